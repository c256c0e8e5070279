# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Direct Access Transport for Linux.  `make help` lists the targets.

# Several words if there is a blank in the path.
SELF := $(abspath $(filter-out $(MAKEFILES),$(MAKEFILE_LIST)))
$(if $(word 2,$(SELF)),$(error '$(SELF)': use a path without a blank))
override DAT_TOP := $(patsubst %/,%,$(dir $(SELF)))
include $(DAT_TOP)/scripts/path.mk
include $(DAT_TOP)/scripts/quiet.mk
override BUILD   := $(DAT_TOP)/build

# These targets write nothing in the tree.
READS := help version install-list uninstall
include $(DAT_TOP)/scripts/alone.mk
ifdef OWNED

VERSION := $(shell sed -n 's/^.define DAT_LINUX_VERSION_[MP][AIT][A-Z]*	//p' \
	$(DAT_TOP)/include/dat/dat_version.h | paste -sd.)

# Where `make install` puts things, below DESTDIR.
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
# libfabric looks for providers in its own library folder, below.
FIDIR      ?= $(LIBDIR)/libfabric
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/dat
SRCDIR     ?= $(PREFIX)/src/dat-$(VERSION)
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
# udev and systemd read these folders of /usr and /usr/local; from another prefix, link them to /etc.
SYSTEMDIR  ?= $(PREFIX)/lib
UDEVDIR    ?= $(SYSTEMDIR)/udev/rules.d
SYSUSERSDIR ?= $(SYSTEMDIR)/sysusers.d
MODULESLOADDIR ?= $(SYSTEMDIR)/modules-load.d
UNITDIR    ?= $(SYSTEMDIR)/systemd/system

# The running kernel's headers, or else those of the kernel in the test VM.
KDIR ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build) \
	$(shell bash -c '. $(DAT_TOP)/scripts/lib.sh && r=$$(vm_headers_release) && echo /usr/src/linux-headers-$$r') \
	$(shell printf '%s\n' /usr/src/linux-headers-6.*-amd64 | sort -rV))
# What modules are loaded for; Debian's kernel.release lacks the flavour.
KREL  = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
# Modules are built beside the sources, one directory per kernel release.
KOBJ ?= $(BUILD)/kmod-$(KREL)

KMAKE = $(MAKE) --no-print-directory -C $(KDIR) M=$(KOBJ) DAT_TOP=$(DAT_TOP)

.PHONY: all modules ktest libs modules_install install uninstall install-dkms install-list version dist deb rpm check-packages clean vm lint model check check-debug check-siw check-lo check-race results mutants build-matrix check-nodes check-hosts check-libfabric bench docs demo demo-rsm demo-rsm-two help kobj

all: modules libs

# Kbuild wants sources and objects in one directory: link the sources there, and
# drop links whose source is gone.
kobj:
	$(call whole,$(KDIR))$(call whole,$(KOBJ))
	@test -n "$(KREL)" || { echo "KDIR=$(KDIR) holds no kernel headers: run scripts/deps, or pass KDIR=" >&2; exit 1; }
	@mkdir -p $(KOBJ)
	@cp -rsf $(DAT_TOP)/kmod/. $(KOBJ)/
	@find $(KOBJ) -xtype l -lname '$(DAT_TOP)/*' -delete

modules: kobj
	+$(Q)$(KMAKE) modules

# Consumers of kDAPL, tests, a benchmark and an example, beside the module that they need, and the
# mean device.
ktest: modules
	@mkdir -p $(KOBJ)/ktest
	@ln -sf $(DAT_TOP)/selftests/kdapl/*.[ch] $(DAT_TOP)/selftests/kdapl/Kbuild \
		$(addprefix $(DAT_TOP)/selftests/verbs/,mean.c mean_compat.h) \
		$(DAT_TOP)/examples/kernel/*.c $(KOBJ)/ktest/
	@find $(KOBJ)/ktest -xtype l -lname '$(DAT_TOP)/*' -delete
	+$(Q)$(MAKE) --no-print-directory -C $(KDIR) M=$(KOBJ)/ktest DAT_TOP=$(DAT_TOP) \
		KBUILD_EXTRA_SYMBOLS=$(KOBJ)/Module.symvers modules

# Other modules that use kDAPL are built against Module.symvers.
modules_install: modules
	$(call whole,$(DESTDIR))
	+$(Q)$(KMAKE) modules_install KERNELRELEASE=$(KREL) INSTALL_MOD_PATH=$(DESTDIR)
	install -D -m 644 $(KOBJ)/Module.symvers $(DESTDIR)/lib/modules/$(KREL)/dat/Module.symvers

libs:
	+$(Q)$(MAKE) --no-print-directory -C $(DAT_TOP)/ulib

# Quoted for the shell, since these paths may hold anything.
INSTALL_DIRS = $(foreach v,DESTDIR PREFIX BINDIR LIBDIR FIDIR INCLUDEDIR MANDIR DOCDIR SRCDIR COMPLETIONDIR \
	UDEVDIR SYSUSERSDIR MODULESLOADDIR UNITDIR VERSION,$v='$(subst ','\'',$($v))')

install: libs
	$(INSTALL_DIRS) $(DAT_TOP)/packaging/install install

uninstall:
	$(INSTALL_DIRS) $(DAT_TOP)/packaging/install uninstall

# The sources of the modules, for `dkms install dat/$(VERSION)`.
install-dkms:
	$(INSTALL_DIRS) $(DAT_TOP)/packaging/install install dkms

# Print the files of `make install`.
install-list:
	@$(INSTALL_DIRS) $(DAT_TOP)/packaging/install list

version:
	@echo $(VERSION)

# The sources, as a maintainer of packages wants them.
dist:
	@$(DAT_TOP)/packaging/dist

deb:
	$(DAT_TOP)/packaging/deb

rpm:
	$(DAT_TOP)/packaging/rpm/build

# The Debian packages, installed, upgraded and removed in roots and a VM.
check-packages:
	$(DAT_TOP)/scripts/test-packages

# The lock stays, since this run may go on: see scripts/alone.mk.
clean:
	$(call short,CLEAN,build)[ ! -d $(BUILD) ] || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +

# The modules for the kernel that the VM boots, whatever KDIR is.
VM_MODULES = $$($(DAT_TOP)/scripts/run-tests modules stock)

vm: libs
	$(DAT_TOP)/scripts/vm --modules $(VM_MODULES) --interactive

lint:
	$(DAT_TOP)/scripts/run-tests lint

model:
	$(DAT_TOP)/selftests/model/run.sh

# KERNEL=6.12 or KERNEL=newest: that kernel instead of this Debian's own; see scripts/mkkernel.
SUFFIX = $(if $(KERNEL),-$(KERNEL))

check:
	$(DAT_TOP)/scripts/run-tests stock$(SUFFIX)

check-debug:
	$(DAT_TOP)/scripts/run-tests debug$(SUFFIX)

check-siw:
	$(DAT_TOP)/scripts/run-tests --siw debug-6.12

check-lo:
	$(DAT_TOP)/scripts/run-tests --lo stock$(SUFFIX)

check-race:
	$(DAT_TOP)/scripts/run-tests race-6.12

# The page of all runs that have left a log.
results:
	@$(DAT_TOP)/scripts/results

# MUTANTS: options of scripts/mutants.
mutants:
	$(DAT_TOP)/scripts/mutants $(MUTANTS)

build-matrix:
	$(DAT_TOP)/scripts/build-matrix

# RSM between two machines.
check-nodes:
	$(DAT_TOP)/scripts/run-tests programs
	$(DAT_TOP)/scripts/two-nodes

# The modules on hosts without IPv6, cgroups and others.
check-hosts:
	$(DAT_TOP)/scripts/run-tests programs
	$(DAT_TOP)/scripts/test-hosts

# Others' programs over the provider for libfabric.
check-libfabric:
	$(DAT_TOP)/scripts/check-libfabric stock$(SUFFIX)

bench:
	$(DAT_TOP)/scripts/bench

docs:
	$(DAT_TOP)/scripts/docs
	@echo $(BUILD)/docs/html/index.html

demo: libs
	@modules=$(VM_MODULES) && echo "Booting a virtual machine with soft-RoCE, which takes up to a minute ..." && \
		$(DAT_TOP)/scripts/vm --mem 4096 --modules $$modules --timeout 600 \
			--log $(BUILD)/demo-console.log -- $(DAT_TOP)/scripts/demo-guest

# It makes itself an RDMA device when it has shown that loopback needs none.
demo-rsm: libs
	$(Q)$(MAKE) --no-print-directory -C $(DAT_TOP)/examples DAT=$(DAT_TOP)
	@modules=$(VM_MODULES) && echo "Booting a virtual machine, which takes up to a minute ..." && \
		$(DAT_TOP)/scripts/vm --no-rxe --mem 2048 --modules $$modules --timeout 300 \
			--log $(BUILD)/demo-rsm-console.log -- $(DAT_TOP)/scripts/demo-rsm-guest

demo-rsm-two: libs
	$(Q)$(MAKE) --no-print-directory -C $(DAT_TOP)/examples DAT=$(DAT_TOP)
	@$(DAT_TOP)/scripts/two-nodes --run '$(DAT_TOP)/scripts/demo-rsm-guest exporter' \
		'$(DAT_TOP)/scripts/demo-rsm-guest importers'

help:
	@echo 'all              the modules and the libraries (default); V=1 prints the commands'
	@echo 'modules          dat.ko and dat_rsm.ko for KDIR=$(KDIR)'
	@echo 'ktest            modules that test, measure and show kDAPL, into ktest/ beside dat.ko'
	@echo 'libs             libdat, librsm and the tools, into build/ulib/; completions into build/completion/'
	@echo 'modules_install  install them for that kernel (DESTDIR=)'
	@echo 'install          libraries, tools, headers, documents, udev rule, group, unit (DESTDIR=, PREFIX=$(PREFIX),'
	@echo '                 LIBDIR=$(LIBDIR), SYSTEMDIR=$(SYSTEMDIR), ...; the Makefile lists all)'
	@echo 'install-dkms     the sources of the modules, for dkms; see Documentation/install.rst'
	@echo 'uninstall        remove what install has put there'
	@echo 'dist             build/dat-$(VERSION).tar.xz, the sources of HEAD'
	@echo 'deb              packages for the Debian that this is, from HEAD, into build/deb/'
	@echo 'rpm              RPM packages from HEAD, into build/rpm/'
	@echo 'check-packages   build the Debian packages, install, upgrade and purge them in clean roots'
	@echo 'lint             warnings, sparse, checkpatch, shellcheck, header checks'
	@echo 'model            the ring protocol, by a model checker (part of lint)'
	@echo 'check            lint, and the tests in a VM with the stock kernel'
	@echo 'check-debug      the tests in a VM with KASAN, lockdep, kmemleak, ...'
	@echo '                 (both: KERNEL=6.12; check also: KERNEL=newest)'
	@echo 'check-siw        the tests over soft iWARP, on the debug kernel of 6.12'
	@echo 'check-lo         the tests over lo0, in a VM without an RDMA device (KERNEL=6.12)'
	@echo 'check-race       the tests of concurrency in a VM with KCSAN, which reports data races'
	@echo 'results          build/results.md: kernel, device and counts of the last runs of these tests'
	@echo 'mutants          whether the tests find planted faults; takes hours (MUTANTS="--count 10")'
	@echo 'build-matrix     the modules for each kernel and compiler, without a VM'
	@echo 'check-nodes      RSM between two VMs that are joined by a cable'
	@echo 'check-hosts      the modules in VMs without IPv6, cgroups, and other facilities of the kernel'
	@echo 'check-libfabric  fabtests and Open MPI over the provider for libfabric, in VMs'
	@echo 'bench            what things cost, beside perftest, verbs, OFED DAPL and UCX in one VM'
	@echo 'docs             the documentation as a site, into build/docs/html/'
	@echo 'demo             transfers between two processes in a VM, over lo0 and over soft-RoCE'
	@echo 'demo-rsm         files scattered over shared memory by two processes in a VM'
	@echo 'demo-rsm-two     the same from one VM to another'
	@echo 'vm               a shell in a VM with both modules loaded'
	@echo 'clean            remove what is in build/ (kernels stay in the cache, see scripts/mkkernel)'

endif # OWNED
