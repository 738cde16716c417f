# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: text of unknown origin made safe to show in a document."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report_text
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Escape text of unknown origin for a document
description:
  - Makes control, format and bidirectional characters, line ends and undecodable bytes visible,
    and escapes the rest for a format.
  - Job comments, job names, node names and configuration values can hold any text. Documents made
    with this filter keep
    their structure, whatever the text is.
positional: _input, format
options:
  _input:
    description: The value. Other types than text are converted.
    type: raw
    required: true
  format:
    description:
      - V(html) and V(xml) are for the text of an element and for a quoted attribute.
      - V(markdown) is for a table cell, a heading or the text of a list item.
      - V(prometheus) is for a label's value between double quotes.
    type: str
    choices: [html, markdown, xml, prometheus]
    required: true
"""

EXAMPLES = r"""
- name: Show a job's comment in a page
  ansible.builtin.copy:
    content: "<p>{{ comment | hpcops.slurm.report_text('html') }}</p>\n"
    dest: /tmp/comment.html
    mode: "0644"
  vars:
    comment: "<b>night run</b>"
"""

RETURN = r"""
_value:
  description: The text in one line, escaped.
  type: str
"""

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import Format, escaped


def report_text(value: object, format: str) -> str:  # noqa: A002 (the option's name)
    """The value as visible text, escaped for a format."""
    try:
        form = Format(format)
    except ValueError as error:
        choices = ", ".join(one.value for one in Format)
        raise AnsibleFilterError(
            "hpcops.slurm.report_text: %r is not one of: %s" % (format, choices)
        ) from error
    return escaped(value, form)


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"report_text": report_text}
