# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Sphinx builds the collection's site: `make docs` writes it to build/docs.

A reference that leads nowhere is an error. Those into Ansible's own documentation become plain
links here, so that the site can be built without a network.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

ANSIBLE = "https://docs.ansible.com/ansible/latest/"

project = "hpcops.slurm"
# This is the name that Sphinx reads.
copyright = "2026 hpcops.slurm contributors"  # noqa: A001
title = "hpcops.slurm"
html_short_title = title

extensions = ["sphinx_antsibull_ext"]
default_role = "any"
nitpicky = True
pygments_style = "ansible"
highlight_language = "YAML+Jinja"

html_theme = "sphinx_ansible_theme"
html_theme_options = {"topbar_links": {}, "vcs_pageview_mode": "edit"}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_use_index = False
html_copy_source = False

# Label, or kind of a label, in Ansible's documentation -> its page.
LABELS = {
    r"(action|callback|filter)_plugins": r"plugins/\1.html",
    r"common_return_values": "reference_appendices/common_return_values.html",
    r"ansible_configuration_settings": "reference_appendices/config.html",
    r"(ANSIBLE_\w+)": r"reference_appendices/config.html#envvar-\1",
    r"ansible_collections\.ansible\.builtin\.(\w+)": r"collections/ansible/builtin/\1.html",
}


def link(
    _app: Sphinx, _environment: Any, node: nodes.Element, content: nodes.TextElement
) -> nodes.Element | None:
    """A link into Ansible's documentation, None for any other reference."""
    for pattern, page in LABELS.items():
        if found := re.fullmatch(pattern, node["reftarget"]):
            return nodes.reference("", "", content, refuri=ANSIBLE + found.expand(page))
    return None


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("missing-reference", link)
