# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""As much of AWX's interface as setting it up takes, kept in memory and served on loopback.

What AWX refuses is refused here, as far as the playbook could get it wrong: missing fields, surveys
whose defaults are none of its choices, a notification with values of another type.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Object = dict[str, Any]

TOKEN = "a-token-of-the-test"
ENCRYPTED = "$encrypted$"
REQUIRED = {
    "organizations": {"name"},
    "credentials": {"name"},
    "execution_environments": {"name", "image"},
    "projects": {"name", "organization"},
    "inventories": {"name", "organization"},
    "hosts": {"name", "inventory"},
    "groups": {"name", "inventory"},
    "notification_templates": {"name", "organization", "notification_type"},
    "job_templates": {"name", "project", "inventory", "playbook"},
    "schedules": {"name", "unified_job_template", "rrule"},
}
NOTIFICATIONS: dict[str, dict[str, type]] = {
    "email": {"host": str, "port": int, "username": str, "password": str, "use_tls": bool,
              "use_ssl": bool, "sender": str, "recipients": list, "timeout": int},
    "webhook": {"url": str, "http_method": str, "disable_ssl_verification": bool, "username": str,
                "password": str, "headers": dict},
}  # fmt: skip
SURVEY: dict[str, type] = {"integer": int, "multiselect": str, "multiplechoice": str}


class Refused(Exception):
    """AWX answers 400, with this text."""


@dataclass
class Awx:
    """What AWX knows. ``status`` is what it answers to everything, if it isn't 200."""

    url: str = ""
    status: int = 200
    objects: dict[str, dict[int, Object]] = field(default_factory=lambda: {k: {} for k in REQUIRED})
    surveys: dict[int, Object] = field(default_factory=dict)
    linked: dict[str, list[int]] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)

    def add(self, kind: str, values: Object) -> Object:
        """Make an object."""
        if missing := REQUIRED[kind] - {key for key, value in values.items() if value != ""}:
            raise Refused(f"{kind}: {sorted(missing)} may not be blank")
        number = 1 + sum(map(len, self.objects.values()))
        url = f"/api/v2/{kind}/{number}/"
        made = {"id": number, "type": kind, "url": url, "summary_fields": {}, "related": {}}
        if kind == "job_templates":
            made["related"] = {"survey_spec": f"{url}survey_spec/"}
        if kind == "projects":  # a new one is fetched at once
            made |= {"scm_revision": "", "summary_fields": {"current_update": {"id": number}}}
        if kind == "groups":
            made["related"] = {"hosts": f"{url}hosts/"}
        self.objects[kind][number] = made
        return self.change(kind, number, values)

    def change(self, kind: str, number: int, values: Object) -> Object:
        """Change an object."""
        if kind == "notification_templates":
            check_notification({**self.objects[kind][number], **values})
        self.objects[kind][number].update(values)
        return self.shown(self.objects[kind][number])

    def shown(self, one: Object) -> Object:
        """An object as AWX shows it: never with a password."""
        settings = dict(one.get("notification_configuration") or {})
        if settings.get("password"):
            settings["password"] = ENCRYPTED
            return {**one, "notification_configuration": settings}
        return one

    def named(self, kind: str) -> Object:
        """The one object of a kind."""
        [found] = self.objects[kind].values()
        return found

    def find(self, kind: str, wanted: dict[str, str]) -> list[Object]:
        """Objects that have these values; of those with ``or__``, one has to fit."""
        if kind == "unified_job_templates":
            return self.find("job_templates", wanted) + self.find("projects", wanted)
        either = {key[4:]: value for key, value in wanted.items() if key.startswith("or__")}
        every = {key: value for key, value in wanted.items() if not key.startswith("or__")}
        return [
            self.shown(one)
            for one in self.objects[kind].values()
            if all(str(one.get(key)) == value for key, value in every.items())
            and (not either or any(str(one.get(key)) == value for key, value in either.items()))
        ]

    def answer(self, method: str, path: list[str], query: dict[str, str], body: Object) -> Any:
        """The answer to a request; KeyError for what isn't there."""
        if method != "GET":
            self.writes.append("/".join(path))
        match path:
            case ["me"]:
                return {"count": 1, "results": [{"username": "admin"}]}
            case ["project_updates", _number]:
                return {"status": "successful"}
            case [kind] if method == "POST":
                return self.add(kind, body)
            case [kind]:
                found = self.find(kind, query)
                return {"count": len(found), "next": None, "results": found}
            case [kind, number] if method == "PATCH":
                return self.change(kind, int(number), body)
            case [kind, number]:
                return self.shown(self.objects[kind][int(number)])
            case ["job_templates", number, "survey_spec"]:
                return self.survey(int(number), method, body)
            case [kind, number, other]:
                return self.link(f"{kind}/{number}/{other}", method, body)
        raise KeyError(path)

    def survey(self, number: int, method: str, body: Object) -> Object:
        """The survey of a template, and the setting of it."""
        if method != "POST":
            return self.surveys.get(number, {})
        check_survey(body)
        self.surveys[number] = body
        return {}

    def link(self, place: str, method: str, body: Object) -> Any:
        """What is tied to an object, and the tying."""
        ids = self.linked.setdefault(place, [])
        if method == "GET":
            return {"count": len(ids), "next": None, "results": [{"id": one} for one in ids]}
        if body.get("disassociate"):
            ids.remove(body["id"])
        else:
            ids.append(body["id"])
        return None


def check_notification(one: Object) -> None:
    """Refuse what AWX refuses."""
    wanted = NOTIFICATIONS[one["notification_type"]]
    given = one.get("notification_configuration", {})
    if set(given) != set(wanted):
        raise Refused(f"fields {sorted(set(given) ^ set(wanted))}")
    for name, kind in wanted.items():
        if not isinstance(given[name], kind) or isinstance(given[name], bool) != (kind is bool):
            raise Refused(f"{name} is {given[name]!r}")


def check_survey(survey: Object) -> None:
    """Refuse what AWX refuses."""
    if not {"name", "description", "spec"} <= set(survey) or not survey["spec"]:
        raise Refused(f"no survey: {survey}")
    for one in survey["spec"]:
        if {"type", "question_name", "variable", "required"} - set(one):
            raise Refused(f"incomplete: {one}")
        default: Any = one["default"]
        if not isinstance(default, SURVEY[one["type"]]) or isinstance(default, bool):
            raise Refused(f"default: {one}")
        if "choices" in one and set(lines(str(default))) - set(lines(one["choices"])):
            raise Refused(f"Default choice must be answered from the choices listed: {one}")


def lines(text: str) -> list[str]:
    """AWX keeps a list of choices as text."""
    return text.split("\n")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    state: Awx
    lock = threading.Lock()

    def reply(self, status: int, content: Any) -> None:
        """Send an answer."""
        data = b"" if status == 204 else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-API-Product-Name", "AWX")
        self.send_header("X-API-Product-Version", "24.6.1")
        self.end_headers()
        self.wfile.write(data)

    def serve(self) -> None:
        """Answer a request of any method."""
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        parts = urlsplit(self.path)
        path = [part for part in parts.path.split("/") if part]
        if self.state.status != 200:
            self.reply(self.state.status, {"detail": "the test wants it so"})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.reply(401, {"detail": "Invalid token."})
        elif path[:2] != ["api", "v2"]:
            self.reply(404, {"detail": "Not found."})
        else:
            self.answer(path[2:], dict(parse_qsl(parts.query)), body)

    def answer(self, path: list[str], query: dict[str, str], body: Object) -> None:
        """Answer a request that is let in."""
        try:
            with self.lock:
                content = self.state.answer(self.command, path, query, body)
        except Refused as error:
            self.reply(400, {"error": str(error), "__all__": [str(error)]})
        except KeyError as error:
            self.reply(404, {"detail": f"Not found: {error}"})
        else:
            made = self.command == "POST" and len(path) == 1
            self.reply(204 if content is None else 201 if made else 200, content)

    # These are the names that http.server calls.
    do_GET = do_POST = do_PATCH = do_DELETE = serve  # noqa: N815

    def log_message(self, *_arguments: Any) -> None:
        """Nothing on the screen."""


@contextmanager
def awx() -> Iterator[Awx]:
    """An AWX on a port of its own, with one organization and one credential."""
    state = Awx()
    bound = type("Bound", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    state.url = f"http://127.0.0.1:{server.server_port}"
    state.add("organizations", {"name": "Default"})
    state.add("credentials", {"name": "login nodes"})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
