# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
"""Configuration of Sphinx.  `make docs` calls it by scripts/docs, which adds generated pages."""

import re

from docutils import nodes
from sphinx.util import logging

project = "dat"
author = "The dat authors"
copyright = author
# Furo, since wide tables and code scroll in their own boxes, narrow windows get a menu, and a page loads
# nothing from other servers.  Alabaster does neither of the first two; the theme of Read the Docs
# wraps tables by a script.
html_theme = "furo"
html_title = "dat"
html_static_path = ["dat.css"]
html_css_files = ["dat.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
highlight_language = "none"
exclude_patterns = ["tree"]
primary_domain = "c"

# What the headers use and do not declare.
nitpick_ignore = [("c:identifier", "module")]


# --- links ------------------------------------------------------------------------------
#
# The text names manual pages, functions, types and files as other prose does: dat_ep_create(3),
# man 7 dat, dat_ep_create(), DAT_EP_ATTR, include/dat/dat.h.  These become links.

KERNEL_PAGES = re.compile(r"kdapl$|dat_blk$|linux/kdat")
OUR_MANUAL = re.compile(r"(dat|rsm)[-_.\w]*$")
IN_TEXT = re.compile(r"\b([A-Za-z][\w.-]*)\(([1-9])\)|\b([a-z]\w+)\(\)")
FILE = re.compile(r"(?:include/(?:uapi/)?)?((?:rdma|dat|linux)/\w+\.h|rsmapi\.h)$|(examples/[\w./-]+)$")

logger = logging.getLogger(__name__)


class Links:
    """Where the names of one page lead to."""

    def __init__(self, app, page):
        self.app = app
        self.page = page
        self.kernel = bool(KERNEL_PAGES.search(page))

    def uri(self, page, anchor=""):
        uri = self.app.builder.get_relative_uri(self.page, page)
        return uri + ("#" + anchor if anchor else "")

    def manual(self, name, section):
        page = f"man/{name}.{section}"
        if page in self.app.env.found_docs:
            return page != self.page and self.uri(page)
        if OUR_MANUAL.match(name):
            logger.warning("there is no manual page %s(%s)", name, section, location=self.page)
        return None

    def in_c(self, name):
        symbols = self.app.env.dat_symbols
        for full in ([f"kernel.k{name}", f"kernel.{name}"] if self.kernel else []) + [
                name, f"uapi.{name}", f"kernel.{name}"]:
            if full in symbols:
                page, anchor = symbols[full]
                return self.uri(page, anchor)
        return None

    def function(self, name):
        page = f"man/{name}.3"
        if not self.kernel and page in self.app.env.found_docs:
            return page != self.page and self.uri(page)
        return self.in_c(name)

    def file(self, match):
        page = "api/" + match[1] if match[1] else match[2]
        return page in self.app.env.found_docs and page != self.page and self.uri(page)

    def literal(self, text):
        """Where a whole literal leads to."""
        match = re.fullmatch(r"man ([1-9]) ([\w.-]+)", text)
        if match:
            return self.manual(match[2], match[1])
        match = IN_TEXT.fullmatch(text)
        if match:
            return self.manual(match[1], match[2]) if match[1] else self.function(match[3])
        match = FILE.fullmatch(text)
        if match:
            return self.file(match)
        match = re.fullmatch(r"(?:struct |enum |union )?([A-Za-z]\w+)", text)
        return match and self.in_c(match[1])

    def text(self, text):
        """The text in pieces: strings, and references."""
        at = 0
        for match in IN_TEXT.finditer(text):
            uri = self.manual(match[1], match[2]) if match[1] else self.function(match[3])
            if uri:
                yield nodes.Text(text[at:match.start()])
                yield nodes.reference("", match[0], internal=True, refuri=uri)
                at = match.end()
        yield nodes.Text(text[at:])


def is_linked(node):
    """Headings and references keep their text, and so do declarations and code."""
    while node is not None:
        if isinstance(node, (nodes.reference, nodes.title, nodes.literal_block, nodes.raw)):
            return True
        if node.tagname.startswith("desc_sig") or node.tagname == "desc_signature":
            return True
        node = node.parent
    return False


def symbols_of_c(env):
    if not hasattr(env, "dat_symbols"):
        env.dat_symbols = {full: (page, anchor) for full, _, _, page, anchor, _
                           in env.get_domain("c").get_objects()}


def add_links(app, doctree, page):
    symbols_of_c(app.env)
    links = Links(app, page)
    for node in list(doctree.findall(nodes.literal)):
        uri = not is_linked(node) and links.literal(node.astext())
        if uri:
            link = nodes.reference("", "", internal=True, refuri=uri)
            node.replace_self(link)
            link += node
    for node in list(doctree.findall(nodes.Text)):
        if IN_TEXT.search(node) and not is_linked(node) and not isinstance(node.parent, nodes.literal):
            pieces = list(links.text(str(node)))
            if len(pieces) > 1:
                node.parent.replace(node, pieces)


def setup(app):
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
