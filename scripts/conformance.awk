# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# The parser of scripts/conformance, whose usage describes the input.  Each file has the kind
# last assigned to "kind"; END combines what was read.

# --- promises ---------------------------------------------------------------------

function problem(text) { print text >problems }

# Shorten a constant to the form in Covers lines.
function short(name) {
	sub(/^DAT_/, "", name)
	if (!sub(/^INVALID_(HANDLE|STATE|ADDRESS)_/, "", name) && !sub(/^INVALID_/, "", name))
		sub(/^RESOURCE_/, "", name)
	return name
}

kind == "names" && !/^#/ { fn[++nfn] = $1; is_fn[$1] = 1 }

kind == "codes" && /enum dat_return_(type|subtype)/ { in_enum = /subtype/ ? "sub" : "type" }
kind == "codes" && /^}/ { in_enum = "" }
kind == "codes" && in_enum && $1 ~ /^DAT_[A-Z0-9_]+$/ {
	if (in_enum == "sub") is_sub[$1] = 1
	else is_type[$1] = 1
}

# Codes of the specification: types without the class, for each function.
kind == "spec" && !/^#/ {
	for (i = 2; i <= NF; i++) {
		spec[$1, ++nspec[$1]] = $i
		in_spec[$1, $i] = 1
	}
}

# The paragraph that begins with "Return:", and the prototype behind the comment.
kind == "doc" && /^\/\*\*$/ { in_doc = 1; doc_fn = ""; in_return = 0; next }
kind == "doc" && in_doc && !doc_fn { doc_fn = $2; next }
kind == "doc" && in_doc && /\*\/$/ { in_doc = 0; in_proto = doc_fn != ""; next }
kind == "doc" && in_doc && /^ \*$/ { in_return = 0 }
kind == "doc" && in_doc && /^ \* Return:/ { in_return = 1; sub(/Return:/, "") }
kind == "doc" && in_return { sub(/^ \* */, ""); text_of[doc_fn] = text_of[doc_fn] " " $0 }
kind == "doc" && in_proto {
	line = $0
	while (match(line, /DAT_([A-Z]+_)?HANDLE [a-z]/)) {
		name = substr(line, RSTART + 4, RLENGTH - 12)
		line = substr(line, RSTART + RLENGTH)
		sub(/_$/, "", name)
		# The subtype of an EVD that is not the first argument is in the description.
		if (name == "" || name == "EVD") name = handles[doc_fn] ? "" : "HANDLE1"
		handles[doc_fn] = handles[doc_fn] (name ? " " name : "")
	}
	if (/;|\\/) in_proto = 0
}

kind == "rules" && !/^#/ && NF {
	rule[++nrules] = $1
	title[$1] = substr($0, index($0, $2))
}

kind == "waived" && !/^#/ && NF {
	waiver_fn[++nwaivers] = $1
	waiver_code[nwaivers] = $2
	reason[nwaivers] = substr($0, index($0, $3))
	waiver_line[nwaivers] = FNR
}

# --- Covers lines of the tests ------------------------------------------------------

kind == "tests" && FNR == 1 {
	prog = FILENAME
	gsub(/.*\/|\.c$/, "", prog)
	test = pending = in_covers = ""
	split("", helper)
}
kind == "tests" && /Covers: / { in_covers = 1; sub(/.*Covers: /, "") }
kind == "tests" && in_covers {
	if (/\*\//) in_covers = 0
	sub(/ *\*\/.*/, "")
	sub(/^ \* ?/, "")
	pending = pending " " $0
	next
}
kind == "tests" && /^TEST(_F|_SIGNAL|_F_TIMEOUT|_F_SIGNAL)?\(/ {
	split($0, part, /[(), ]+/)
	test = prog "/" (/^TEST_F/ ? part[2] "." part[3] : "global." part[2])
	if (pending) covers[++ncovers] = test ";" pending
}
kind == "tests" && /^[a-z].*[a-z0-9_]+\(/ && pending {
	match($0, /[a-z0-9_]+\(/)
	helper[substr($0, RSTART, RLENGTH)] = pending
	pending = ""
	next
}
kind == "tests" && pending && test == "" {
	problem(FILENAME ":" FNR ": a Covers line that is above no test")
}
kind == "tests" { pending = "" }
kind == "tests" && /^}/ { test = "" }
kind == "tests" && test {
	for (h in helper)
		if (index($0, h) && !((test, h) in called)) {
			called[test, h] = 1
			covers[++ncovers] = test ";" helper[h]
		}
}

# --- tests of kDAPL: what each function of the test modules calls ----------------------

kind == "kdapl" && /^[A-Z][A-Za-z_ ]*[ *]kdat_[a-z_]+\(/ {
	match($0, /kdat_[a-z_]+/)
	kfn[++nkfn] = substr($0, RSTART, RLENGTH)
	is_kfn[kfn[nkfn]] = 1
}

kind == "ktests" && FNR == 1 { suite = FILENAME; gsub(/.*\/|\.c$/, "", suite); in_fn = "" }
# A prototype may continue after its first argument; macros and tables do not match.
kind == "ktests" && /^[A-Za-z][A-Za-z0-9_ *]*[ *][a-z0-9_]+\(/ && !/;/ {
	match($0, /[a-z0-9_]+\(/)
	in_fn = suite " " substr($0, RSTART, RLENGTH - 1)
	if (!/^static /) shared[substr($0, RSTART, RLENGTH - 1)] = in_fn
}
kind == "ktests" && /^}/ { in_fn = "" }
kind == "ktests" && /KTEST\(/ {
	line = $0
	while (match(line, /KTEST\([a-z0-9_]+/)) {
		ktest[++nktests] = suite " " substr(line, RSTART + 6, RLENGTH - 6)
		line = substr(line, RSTART + RLENGTH)
	}
}
# Record arguments too: an upcall is a function that is named and not called.
kind == "ktests" && in_fn {
	line = $0
	while (match(line, /[a-z][a-z0-9_]+/)) {
		word1 = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (word1 ~ /^dat_/) word1 = "k" word1
		if (!((in_fn, word1) in names)) {
			names[in_fn, word1] = 1
			named[in_fn, ++nnamed[in_fn]] = word1
		}
	}
}

# --- results -----------------------------------------------------------------------

kind == "tap" { sub(/\r$/, "") }
kind == "tap" && /^# begin / { ran = $3 }
kind == "tap" && /^(not )?ok / {
	name = /^not/ ? $4 : $3
	n = split(name, part, ".")
	if (n == 3) name = part[1] "." part[3]
	went = /^not/ ? "failed" : / # *SKIP/ ? "skipped" : "passed"
	if (result[ran "/" name] != "failed") result[ran "/" name] = went
}

# --- rows -----------------------------------------------------------------------------

function add_row(f, code) {
	if ((f, code) in is_row) return
	is_row[f, code] = 1
	row[f, ++nrows[f]] = code
}

function of_type(code, type) { return code == type || index(code, type "|") == 1 }

function has_type(f, type, i) {
	for (i = 1; i <= nrows[f]; i++)
		if (of_type(row[f, i], type)) return 1
	return 0
}

function drop_type(f, type, i, n) {
	n = 0
	for (i = 1; i <= nrows[f]; i++)
		if (of_type(row[f, i], type)) delete is_row[f, row[f, i]]
		else row[f, ++n] = row[f, i]
	nrows[f] = n
}

function copy_rows(f, from, type, i) {
	resolve(from)
	for (i = 1; i <= nrows[from]; i++)
		if (type == "" || of_type(row[from, i], type)) add_row(f, row[from, i])
}

# Return the subtypes in @text, shortened and separated by blanks.  "_EVD_CONN" stands for a
# subtype with the prefix of the one before.
function subtypes(text, n, i, word, found, last, base) {
	n = split(text, word, /[^A-Z0-9_]+/)
	for (i = 1; i <= n; i++) {
		base = last
		if (word[i] ~ /^_/)
			while (base != "" && !((base word[i]) in is_sub))
				if (!sub(/_[^_]*$/, "", base)) base = ""
		if (word[i] ~ /^_/ && base != "") word[i] = base word[i]
		if (word[i] in is_sub) {
			found = found " " short(word[i])
			last = word[i]
		}
	}
	return found
}

# Parse "TYPE[, TYPE]: when and when (SUBTYPE)".
function add_clause(f, types, text, inherited, n, i, k, m, type, subs) {
	n = split(types, type, /, */)
	m = split(subtypes(text), subs, " ")
	for (i = 1; i <= n; i++) {
		sub(/^DAT_/, "", type[i])
		if (inherited && text !~ /^ *also/) drop_type(f, type[i])
		if (match(text, /as dat_[a-z_]+\(\)/))
			copy_rows(f, substr(text, RSTART + 3, RLENGTH - 5), type[i])
		else if (!m)
			add_row(f, type[i])
		for (k = 1; k <= m; k++) add_row(f, type[i] "|" subs[k])
	}
}

function resolve(f, text, clause, n, i, types, rest, inherited, len) {
	if (resolved[f]++) return
	add_row(f, "SUCCESS")
	text = text_of[f]
	if (match(text, /^ *as dat_[a-z_]+\(\)/)) {
		rest = substr(text, RSTART, RLENGTH)
		gsub(/^ *as |\(\)/, "", rest)
		copy_rows(f, rest, "")
		text = substr(text, RSTART + RLENGTH)
		sub(/^[.,]( but)?/, "", text)
		inherited = 1
	}
	n = split(text, clause, ";")
	types = ""
	for (i = 1; i <= n; i++) {
		sub(/^ */, "", clause[i])
		if (match(clause[i], /^DAT_[A-Z_]+(, DAT_[A-Z_]+)*:/)) {
			len = RLENGTH
			if (types) add_clause(f, types, rest, inherited)
			types = substr(clause[i], 1, len - 1)
			rest = substr(clause[i], len + 1)
		} else if (types) {
			rest = rest ";" clause[i]
		} else if (clause[i] ~ /\(DAT_INVALID_HANDLE/) {
			add_row(f, "INVALID_HANDLE|" substr(subtypes(clause[i]), 2))
		}
	}
	if (types) add_clause(f, types, rest, inherited)
	# udat.h says this once for all functions.
	n = split(handles[f], clause, " ")
	for (i = 1; i <= n; i++) add_row(f, "INVALID_HANDLE|" clause[i])
}

# Every code of the specification gets a row, whatever the description says.
function specify(f, i) {
	for (i = 1; i <= nspec[f]; i++)
		if (!has_type(f, spec[f, i])) add_row(f, spec[f, i])
}

function beyond_spec(f, code) {
	sub(/\|.*/, "", code)
	return nspec[f] && code != "SUCCESS" && !((f, code) in in_spec)
}

# Record the functions of kDAPL that @at, a function of a test module, or its helpers name.
function reach(test, at, i, word) {
	if ((test, at) in reached) return
	reached[test, at] = 1
	for (i = 1; i <= nnamed[at]; i++) {
		word = named[at, i]
		if (word in is_kfn) cover("kDAPL", word, test)
		split(at, part, " ")
		reach(test, part[1] " " word)
		# A function of another file.
		if (word in shared) reach(test, shared[word])
	}
}

function join_calls(i, part) {
	for (i = 1; i <= nktests; i++) {
		split(ktest[i], part, " ")
		reach(part[1] "/" part[2], ktest[i])
	}
}

# --- joining ---------------------------------------------------------------------------

function cover(f, code, test) {
	if (index(" " tests[f, code] " ", " " test " ")) return
	tests[f, code] = tests[f, code] (tests[f, code] ? " " : "") test
}

function cover_code(test, f, type, subtype, code) {
	code = subtype == "" ? type : type "|" subtype
	if ((f, code) in is_row) cover(f, code, test)
	else if ((f, type) in is_row) cover(f, type, test)
	# A case may have no subtype; codes that every function may return are not described.
	else if (subtype == "" ? has_type(f, type) : type == "INVALID_HANDLE") {
		add_row(f, code)
		cover(f, code, test)
	}
	else problem(test ": the description of " f "() does not have " code)
}

function cover_function(test, f, n, word, i, k, m, part) {
	if (!(f in is_fn)) {
		problem(test ": \"" f "\" is no function of the API")
		return
	}
	for (i = 1; i <= n; i++) {
		if (word[i] ~ /^dat_/) continue
		m = split(word[i], part, "|")
		if (m == 1) cover_code(test, f, part[1], "")
		for (k = 2; k <= m; k++) cover_code(test, f, part[1], part[k])
	}
	if (word[n] ~ /^dat_/) cover(f, "SUCCESS", test)
}

# Parse "dat_a dat_b CODE CODE", "dat_a", or "SH 1, 2".
function cover_item(test, item, n, i, word) {
	n = split(item, word, /[ ,]+/)
	if (n && word[1] !~ /^(SH$|dat_)/) problem(test ": what is \"" item "\"?")
	for (i = 1; i <= n; i++)
		if (word[1] != "SH" && word[i] ~ /^dat_/)
			cover_function(test, word[i], n, word)
		else if (word[1] == "SH" && i > 1 && !(word[i] in title))
			problem(test ": there is no rule " word[i])
		else if (word[1] == "SH" && i > 1)
			cover("SH", word[i], test)
}

function join_covers(i, k, n, item) {
	for (i = 1; i <= ncovers; i++) {
		n = split(covers[i], item, ";")
		for (k = 2; k <= n; k++) {
			gsub(/^ +| +$/, "", item[k])
			cover_item(item[1], item[k])
		}
	}
}

# Return the reason why there is no test, or "".
function waived(f, code, i) {
	for (i = 1; i <= nwaivers; i++)
		if ((waiver_fn[i] == f || (waiver_fn[i] == "*" && f != "SH")) &&
		    (waiver_code[i] == code || waiver_code[i] == "*")) {
			waiver_used[i] = 1
			return reason[i]
		}
	return ""
}

function status_of(list, n, i, test, all) {
	n = split(list, test, " ")
	for (i = 1; i <= n; i++) {
		if (result[test[i]] == "failed") return "**failed**"
		if (result[test[i]] == "passed") all = "passed"
	}
	return all ? all : "not run"
}

# --- the page ---------------------------------------------------------------------------

function table(first, second) {
	print ".. list-table::\n   :header-rows: 1\n"
	print "   * - " first "\n     - " second "\n     - Tests" (results ? "\n     - Status" : "")
}

function literals(list) {
	gsub(/ /, "``, ``", list)
	return "``" list "``"
}

function table_row(first, second, f, code, why) {
	print "   * -" (first == "" ? "" : " " first) "\n     - " second
	total++
	if (tests[f, code]) {
		tested++
		print "     - " literals(tests[f, code])
		if (results) print "     - " status_of(tests[f, code])
		return
	}
	why = waived(f, code)
	if (why == "") {
		missing++
		problem(f == "kDAPL" ? code "(): no test calls it" : (f == "SH" ? "rule " code " (" title[code] ")" : f "() " code) ": no test")
	}
	print "     - *" (why == "" ? "nothing" : "none: " why) "*"
	if (results) print "     -"
}

function page(i, k, f, n, caller) {
	print ".. SPDX-License-Identifier: GPL-2.0-only"
	print ".. Copyright (c) The dat authors"
	print ".. Made by scripts/conformance --write; not to be edited.\n"
	print "Conformance\n===========\n"
	print "Which test covers which return code of which function, and which rule of the API."
	print "``scripts/conformance --help`` says where this comes from; tests are"
	print "``PROGRAM/FIXTURE.TEST`` in ``selftests/``.  Codes are those of the descriptions in"
	print "``include/dat/``, shortened: ``INVALID_PARAMETER|ARG2`` is ``DAT_INVALID_PARAMETER``"
	print "with the subtype ``DAT_INVALID_ARG2``.\n"
	print "Each function has a row for each type of code that the DAT 1.2 specification names"
	print "(``selftests/libdat/dat_codes.txt``), whatever its description here says.  *ours*: the"
	print "specification does not name it.\n"
	print "Functions\n---------\n"
	table("Function", "Returns")
	for (i = 1; i <= nfn; i++) {
		f = fn[i]
		for (k = 1; k <= nrows[f]; k++)
			table_row(k == 1 ? "``" f "``" : "", "``" row[f, k] "``" \
				(beyond_spec(f, row[f, k]) ? ", *ours*" : ""), f, row[f, k])
	}
	print "\nkDAPL\n-----\n"
	print "How many tests in ``selftests/kdapl/`` call a function of ``include/linux/kdat.h``, and"
	print "the first of them.\n"
	table("Function", "Callers")
	for (i = 1; i <= nkfn; i++) {
		n = split(tests["kDAPL", kfn[i]], caller, " ")
		if (n > 3) tests["kDAPL", kfn[i]] = caller[1] " " caller[2] " " caller[3]
		table_row("``" kfn[i] "``", n, "kDAPL", kfn[i])
	}
	print "\nRules\n-----\n"
	table("Number", "Rule")
	for (i = 1; i <= nrules; i++)
		table_row(rule[i], title[rule[i]], "SH", rule[i])
	print "\n" total " entries: " tested " with tests, " total - tested - missing \
		" with a reason why not, " missing + 0 " without either."
}

END {
	for (i = 1; i <= nfn; i++) {
		if (!(fn[i] in text_of) && fn[i] !~ /^dat_(ia_open|provider_(init|fini))$/)
			problem(fn[i] "(): no description of what it returns in include/dat")
		resolve(fn[i])
		specify(fn[i])
	}
	join_covers()
	join_calls()
	page()
	for (i = 1; i <= nwaivers; i++)
		if (!waiver_used[i])
			problem("selftests/libdat/conformance.waived:" waiver_line[i] ": needless, all that it stands for has tests")
}
