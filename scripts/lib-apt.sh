# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
# shellcheck shell=bash
# Packages of other suites of Debian than the host's; to be sourced after lib.sh.  The apt that
# fetches the packages has lists, archives and a status file of its own: nothing of the host
# changes.

# SUITES is one argument, such as "trixie trixie-backports"; packages of the last one are preferred.

# Print the host's first source of packages with other suites, and with TYPE deb-src for sources.
apart_source() { # SUITES TYPE
	local host=/etc/apt/sources.list.d/debian.sources
	if [ -r "$host" ]; then
		awk '!NF && seen { exit } NF && !/^#/ { seen = 1; print }' "$host" |
			sed "s/^Suites:.*/Suites: $1/; s/^Types:.*/Types: $2/"
	else
		printf '%s\n' "Types: $2" "URIs: http://deb.debian.org/debian" "Suites: $1" \
			"Components: main" "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg"
	fi
}

apart_update() { # DIR
	run_quietly "$1/update.log" "package lists" apt-get -q update && : >"$1/updated"
}

write_apart_conf() { # DIR SUITES ARCHITECTURE TYPE
	mkdir -p "$1"/{lists/partial,archives/partial,sources}
	apart_source "$2" "$4" >"$1/sources/suite.sources"
	: >"$1/status"
	cat >"$1/apt.conf.new" <<-END
		Dir::State "$1";
		Dir::State::status "$1/status";
		Dir::Cache "$1";
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$1/sources";
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		APT::Default-Release "${2##* }";
		APT::Architecture "$3";
		APT::Architectures { "$3"; };
	END
	mv "$1/apt.conf.new" "$1/apt.conf"
}

# Prepare an apt for SUITES, with TYPE deb-src for sources instead of packages, and let the caller
# use it.  Lists are fetched again after a day; old lists serve if the archive cannot be reached.
# Another process may use the same apt: nobody rewrites a configuration that exists, since apt would
# use the host's packages for a moment.
use_apart() { # SUITES [ARCHITECTURE [TYPE]]
	local dir=$DAT_CACHE/apt-${1// /+}${2:+-$2}${3:+-$3}
	mkdir -p "$dir"
	exec 8>"$dir/lock"
	flock 8
	[ -e "$dir/apt.conf" ] || write_apart_conf "$dir" "$1" "${2:-amd64}" "${3:-deb}"
	export APT_CONFIG=$dir/apt.conf
	[ -n "$(find "$dir/updated" -mtime -1 2>/dev/null)" ] || apart_update "$dir" ||
		[ -e "$dir/updated" ] || die "cannot fetch the package lists of $1"
	exec 8>&-
}

# Print the first package whose name matches REGEX among those that PACKAGE depends on.
depends_on() { # PACKAGE REGEX
	apt-cache depends "$1" | sed -n 's/.*Depends: //p' | grep -E -m 1 -x "$2"
}

# Unpack the archives of PACKAGE... without what they depend on.
unpack_packages() { # ROOT PACKAGE...
	local root=$1 tmp deb
	shift
	mkdir -p "$root"
	tmp=$(mktemp -d "$DAT_CACHE/tmp.XXXXXX") || return 1
	(cd "$tmp" && apt-get -q download "$@")
	for deb in "$tmp"/*.deb; do dpkg -x "$deb" "$root"; done
	rm -rf "$tmp"
}

# Unpack PACKAGE... with all that they depend on.
unpack_closure() { # ROOT PACKAGE...
	local root=$1 archives=${APT_CONFIG%/*}/archives deb
	shift
	rm -f "$archives"/*.deb
	apt-get -q -y install --download-only "$@"
	mkdir -p "$root"
	for deb in "$archives"/*.deb; do dpkg -x "$deb" "$root"; done
	rm -f "$archives"/*.deb
}
