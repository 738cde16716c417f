# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The write protocol as a state machine: what may happen next, and what must never be.

A state holds the job, the clock, the journal, the tasks with what they have said, their scripts,
the calls that may still land, and how many faults and events of others are left. Everything that
can happen next is a step; there is no other source of order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import GRACE
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import COME
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    Script as DeadlineScript,
)
from ansible_collections.hpcops.slurm.tests.model.tasks import Claim, Made, Mail, Tasks
from ansible_collections.hpcops.slurm.tests.model.world import (
    ENDED,
    GONE,
    LIFTED,
    LIVE,
    OTHER,
    OWN,
    PENDING,
    T0,
    Deed,
    Job,
    by_itself,
    by_others,
    done,
    held,
    instance,
    shown,
)

#: The invariants, by the word that a violation is reported with.
INVARIANTS = {
    "applied": "what is said to be applied is in effect when that is said",
    "undone": "what is said to be applied or unchanged is not undone by a call of ours from before",
    "denied": (
        "what is said to be rejected, expired, not_run, stale, not_found or unchanged, without"
        " changed, has not landed and does not land later"
    ),
    "not_applied": (
        "what is said to be not_applied does not land later, and did not, unless somebody has put"
        " the job back to what it was"
    ),
    "bounded": (
        "what is said to be unknown does not land after may_land_until, nor, when it is settled,"
        " at all"
    ),
    "bit": "no requeue bit of ours is set that was said to be off",
    "bit told": "no requeue bit of ours stays set that neither a result nor the next run tells of",
    "begin time": "the job's own begin time is back when its hold was lifted",
    "completed": "no job that has ended runs again",
    "execution": "no requeue or cancelling is sent for an execution newer than the named one",
    "again": "the same task again finds everything unchanged",
}

#: What the exploration leaves out.
ASSUMED = (
    (
        "nobody else makes the very same change while a call of ours may still land: places the"
        " same instance, lifts the same hold, opens the same gate"
    ),
    "nobody else puts a job back exactly to what it was before, while the outcome is not settled",
    "slurmctld saves its state once a landing bound is over, so that a crash forgets nothing older",
    "nobody is told of a crash: what was said before it may not be so any more, but for the bit",
)
MAIN = ("hold", "release", "open", "requeue", "plain_requeue", "restore", "cancel")


class Rules(NamedTuple):
    """What a deliberately broken script leaves out. All on is the script as it is."""

    looks: bool = True
    deadline: bool = True
    incomplete: bool = True
    clears: bool = True


AS_IT_IS = Rules()


class Doing(NamedTuple):
    """A task of a program."""

    action: str
    settle: bool = True


class Program(NamedTuple):
    """A job, and two tasks: one after the other, or the second one at any time."""

    job: Job
    tasks: tuple[Doing, ...]
    together: bool = False


class Running(NamedTuple):
    """One task. ``at``: waiting, read, plan, script, round, over or dead.

    ``first`` is what its read showed at ``read_at``, ``before`` the job when it began. ``pending``
    are the scripts of other tasks that were started before that read, and ``undone`` says that one
    of their calls has taken away since what the read showed. ``touched``: somebody else has changed
    the job, or a call has landed late, since the task began. ``order`` is its place in the journal.
    """

    at: str = "waiting"
    deadline: int = 0
    first: Job | None = None
    read_at: int = 0
    state: str = ""
    send: int = -1
    claim: Claim | None = None
    before: Job | None = None
    landed: bool = False
    touched: bool = False
    pending: frozenset[int] = frozenset()
    undone: bool = False
    order: int = 0


class Script(NamedTuple):
    """One deadline script. ``at``: look, call, hang, over or killed; ``order`` is its place in the
    journal.
    """

    task: int
    send: int
    at: str
    place: int
    last: int
    out: bytes
    err: bytes
    order: int


class Flight(NamedTuple):
    """A call that nobody waits for any more."""

    task: int
    send: int
    deed: Deed
    by: int
    order: int


class Slurmctld(NamedTuple):
    """The job, and what is true of it: ``own`` is the begin time that it has to have without holds,
    0 for any; ``bit_by`` the task of ours that set the bit, -1 for none.
    """

    job: Job
    own: int
    bit_by: int


class State(NamedTuple):
    """Everything. ``job``, ``own`` and ``bit_by`` are slurmctld's; ``saved`` is what it comes back
    with when it is killed, None when it is not killed any more.
    """

    now: int
    job: Job
    journal: tuple[str, ...]
    tasks: tuple[Running, ...]
    scripts: tuple[Script, ...]
    flights: tuple[Flight, ...]
    own: int
    bit_by: int
    faults: int
    others: int
    saved: Slurmctld | None

    @property
    def slurmctld(self) -> Slurmctld:
        """What it would save now."""
        return Slurmctld(self.job, self.own, self.bit_by)


class Broken(Exception):
    """An invariant does not hold: its word, and what was seen."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(f"{word}: {text}")
        self.word = word


Steps = Iterator[tuple[str, State]]


def effect(action: str, job: Job) -> bool:
    """Whether a job shows what an action is for: the model's own truth."""
    verb, _space, number = action.partition(" ")
    if verb == "hold":
        return job.begin == instance(int(number))
    if verb == "release":
        return job.begin != instance(int(number))
    if verb == "open":
        return not job.gate
    if verb == "requeue":
        return job.restarts > 0
    if verb.startswith("restore"):
        return not job.bit
    over = verb == "cancel" and action != verb and job.restarts > 0
    return over or job.state not in LIVE


class Protocol:
    """The steps of one program."""

    def __init__(
        self,
        program: Program,
        tasks: Tasks,
        faults: int,
        others: int,
        crash: bool = False,
        rules: Rules = AS_IT_IS,
    ) -> None:
        self.program, self.engine, self.rules = program, tasks, rules
        self.faults, self.others, self.crash = faults, others, crash
        self._deeds: dict[int, tuple[Deed, ...]] = {}
        self._times: dict[int, tuple[int, int, int]] = {}

    def begin(self) -> State:
        """Where everything begins."""
        job = self.program.job
        own = job.begin if job.begin in (OWN, OTHER) else 0
        tasks = tuple(Running() for _one in self.program.tasks)
        saved = Slurmctld(job, own, -1) if self.crash else None
        return State(T0, job, (), tasks, (), (), own, -1, self.faults, self.others, saved)

    def steps(self, state: State) -> Steps:
        """All that can happen next. Raises Broken."""
        yield from self._tick(state)
        yield from self._crash(state)
        for what, job in by_itself(state.job):
            touched = state.tasks
            if job.state in ENDED:
                touched = tuple(one._replace(touched=True) for one in state.tasks)
            yield what, state._replace(job=job, tasks=touched)
        if state.others:
            for what, job in by_others(state.job):
                if self._same_change(state, job):
                    continue
                yield what, self._by_others(state, job)
        for place, flight in enumerate(state.flights):
            rest = state.flights[:place] + state.flights[place + 1 :]
            job, _refusal = done(state.job, flight.deed)
            left = state._replace(flights=rest)
            yield f"{flight.deed.kind} lands", self._landed(left, flight, job, True)
        for place, script in enumerate(state.scripts):
            yield from self._script(state, place, script)
        for place in range(len(state.tasks)):
            yield from self._task(state, place)

    def check_end(self, state: State) -> None:
        """What has to hold once nothing of ours can happen any more. Raises Broken."""
        over = all(one.at in ("over", "dead") for one in state.tasks)
        if state.scripts or state.flights or not over:
            return
        if state.job.bit and state.bit_by >= 0 and state.job.state in LIVE:
            told = self._bit_told(state)
            mail = Mail(state.now + 10000, state.job, state.journal)
            if not (told or self.engine.tells_bit(mail)):
                raise Broken("bit told", f"task {state.bit_by} left the bit set, and nobody tells")

    def _bit_told(self, state: State) -> bool:
        """Whether the last that was said of the bit is that it is, or may be, set."""
        claim = state.tasks[state.bit_by].claim
        told = claim is not None and claim.bit_left != "no"
        for doing, one in zip(self.program.tasks, state.tasks, strict=True):
            if doing.action.startswith("restore") and one.claim is not None:
                told = told and one.claim.outcome not in ("applied", "unchanged")
        return told

    # Time and others

    def _tick(self, state: State) -> Steps:
        later = []
        for one in state.tasks:
            if one.at != "waiting":
                instants = self._instants(one.deadline)
                later += [when for when in instants if when > state.now]
                if one.at == "round":
                    later += [when for when in (instants[-1] + GRACE,) if when > state.now]
        if later:
            now = min(later)
            flights = tuple(one for one in state.flights if one.by >= now)
            saved = state.saved
            if saved and any(
                now == self._instants(one.deadline)[2] for one in state.tasks if one.at != "waiting"
            ):
                saved = state.slurmctld
            passed = state._replace(now=now, flights=flights, saved=saved)
            yield f"the clock shows {now - T0}", passed

    def _crash(self, state: State) -> Steps:
        """slurmctld is killed, and has forgotten what it has not saved."""
        if state.saved in (None, state.slurmctld):
            return
        yield "slurmctld saves its state", state._replace(saved=state.slurmctld)
        job, own, bit_by = state.saved
        tasks = tuple(one._replace(touched=True) for one in state.tasks)
        back = state._replace(job=job, own=own, bit_by=bit_by, tasks=tasks, saved=None)
        yield "slurmctld is killed and comes back", back

    def _instants(self, deadline: int) -> tuple[int, int, int]:
        """When it is too late for a call, when the last may land, and when the bound is over."""
        if deadline not in self._times:
            engine = self.engine
            times = (engine.on_host(deadline) - 1, engine.lands_by(deadline))
            self._times[deadline] = (*times, engine.until(deadline) + 1)
        return self._times[deadline]

    def _by_others(self, state: State, job: Job) -> State:
        own = state.own
        if job.begin != state.job.begin:
            racing = state.flights or any(one.at in ("call", "hang") for one in state.scripts)
            own = job.begin if job.begin == OTHER and not racing else 0
        bit_by = state.bit_by if job.bit == state.job.bit else -1
        tasks = tuple(one._replace(touched=True) for one in state.tasks)
        return state._replace(job=job, own=own, bit_by=bit_by, tasks=tasks, others=state.others - 1)

    def _same_change(self, state: State, job: Job) -> bool:
        """Whether somebody else makes the very change that a call of ours may yet make.

        Left out (ASSUMED): a read can't tell the two apart, and takes the change for ours.
        """
        calls: tuple[Script | Flight, ...] = (*state.scripts, *state.flights)
        for place, one in enumerate(state.tasks):
            on_its_way = one.at not in ("waiting", "over", "dead")
            if on_its_way or any(call.task == place for call in calls):
                action = self.program.tasks[place].action
                if action.startswith("release") and held(job):
                    continue
                seen = action.startswith(("hold", "release", "open"))
                if seen and not effect(action, state.job) and effect(action, job):
                    return True
        return False

    # What a call does

    def _landed(self, state: State, call: Script | Flight, job: Job, late: bool) -> State:
        """The state after a call was handled; ``call`` is by whom."""
        kind = self._kind(state, call)
        if job == state.job:
            return state
        before, tasks = state.job, list(state.tasks)
        mine = tasks[call.task]
        main = kind in MAIN
        if before.state in ENDED and job.state in LIVE:
            raise Broken("completed", f"{before.state} became {job.state}")
        if mine.claim is not None and main:
            self._check_late(state, mine.claim)
        if kind == "set" and mine.claim is not None and mine.claim.bit_left == "no":
            raise Broken("bit", "the bit was set after it was said to be off")
        if kind == "release" and state.own and job.begin != state.own:
            raise Broken("begin time", f"{state.own - T0} was lost")
        self._check_undone(state, call, job)
        tasks[call.task] = mine._replace(landed=mine.landed or main)
        for place, one in enumerate(tasks):
            if call.send in one.pending and self._undoes(place, before, job):
                tasks[place] = one._replace(undone=True)
        if late:
            tasks = [one._replace(touched=True) for one in tasks]
        bit_by = state.bit_by
        if job.bit != before.bit:
            bit_by = call.task if job.bit else -1
        return state._replace(job=job, tasks=tuple(tasks), bit_by=bit_by)

    def _kind(self, state: State, call: Script | Flight) -> str:
        deed = call.deed if isinstance(call, Flight) else self._deed(call)
        restores = self.program.tasks[call.task].action.startswith("restore")
        return "restore" if deed.kind == "clear" and restores else deed.kind

    def _check_late(self, state: State, claim: Claim) -> None:
        if claim.denies:
            raise Broken("denied", f"it landed after {claim.outcome} was said")
        if claim.outcome == "not_applied":
            raise Broken("not_applied", "it landed after that was said")
        if claim.outcome == "unknown":
            on_controller = state.now + self.engine.setting.offset
            if claim.settled:
                raise Broken("bounded", "it landed after the unknown was settled")
            if claim.may_land_until is None and self.engine.setting.bounded:
                raise Broken("bounded", "it landed, and no bound was given")
            if claim.may_land_until is not None and on_controller > claim.may_land_until:
                raise Broken("bounded", "it landed after may_land_until")

    def _check_undone(self, state: State, call: Script | Flight, job: Job) -> None:
        for place, one in enumerate(state.tasks):
            if one.claim is None or one.claim.outcome not in ("applied", "unchanged"):
                continue
            if self._undoes(place, state.job, job) and call.order < one.order:
                action = self.program.tasks[place].action
                text = f"{action} was said to be {one.claim.outcome}, and task {call.task} undid it"
                raise Broken("undone", text)

    def _undoes(self, place: int, before: Job, job: Job) -> bool:
        """Whether a change takes away what a task is for."""
        action = self.program.tasks[place].action
        return effect(action, before) and not effect(action, job)

    # The script

    def _deed(self, script: Script) -> Deed:
        return self._deeds_of(script.send)[script.place]

    def _text(self, send: int) -> DeadlineScript:
        ((_nonce, text),) = self.engine.sent[send][0]
        return text

    def _deeds_of(self, send: int) -> tuple[Deed, ...]:
        if send not in self._deeds:
            script = self._text(send)
            change = script.arguments[0].partition("=")[2]
            begin = LIFTED if change == "now" else int(change[3:] or 0) if change else 0
            kinds = {
                Call.HOLD: Deed("hold", begin),
                Call.RELEASE: Deed("release", begin),
                Call.SET_BIT: Deed("set"),
                Call.REQUEUE: Deed("requeue" if self.rules.incomplete else "plain_requeue"),
                Call.CLEAR_BIT: Deed("clear"),
                Call.OPEN: Deed("open"),
                Call.CANCEL: Deed("cancel"),
            }
            self._deeds[send] = tuple(kinds[one] for one in script.calls)
        return self._deeds[send]

    def _started(self, state: State, place: int, send: int) -> Script:
        at = "look" if self._text(send).looks else "call"
        return Script(place, send, at, 0, 127, b"", b"", len(state.journal))

    def _script(self, state: State, place: int, script: Script) -> Steps:
        heard = state.tasks[script.task].at == "script"

        def put(new: Script, after: State) -> State:
            kept = () if new.at in ("over", "killed") and not heard else (new,)
            scripts = state.scripts[:place] + kept + state.scripts[place + 1 :]
            return after._replace(scripts=scripts)

        if script.at in ("over", "killed"):
            return
        if state.faults:
            killed = put(script._replace(at="killed"), _fault(state))
            if script.at == "hang":
                killed = self._fly(killed, script)
            yield "the script is killed", killed
        for what, told, after in self._goes_on(state, script):
            yield what, put(told, after)

    def _goes_on(self, state: State, script: Script) -> Iterator[tuple[str, Script, State]]:
        late = state.now >= self._instants(state.tasks[script.task].deadline)[0]
        if script.at == "look":
            yield "the script looks", self._looked(script, state.job, late), state
            if state.faults:
                yield "the script sees nothing", self._looked(script, None, late), _fault(state)
        elif script.at == "hang":
            if late:
                yield "the call is ended by force", self._told(script, 124), state
        elif late and self.rules.deadline:
            yield "it is too late for the call", self._told(script, 75), state
        else:
            yield from self._call(state, script)

    def _told(self, script: Script, status: int, text: str = "") -> Script:
        """The script after a call, with its status line."""
        ((nonce, _text),) = self.engine.sent[script.send][0]
        line = f"{text}\x1eDSL {nonce} call {script.place + 1} {status}\n"
        script = script._replace(err=script.err + line.encode(), last=status)
        last = len(self._deeds_of(script.send)) - 1
        if script.place == last or (script.place == 0 and status == 75):
            return script._replace(at="over")
        after = script.place + 1 if status == 0 or script.place else last
        if after == last and not self.rules.clears:
            return script._replace(at="over")
        return script._replace(at="call", place=after)

    def _looked(self, script: Script, job: Job | None, late: bool) -> Script:
        if late and self.rules.deadline:
            return self._told(script, 75)._replace(at="over")
        text = self._text(script.send)
        (address,) = text.addresses
        updates = text.calls[0] in (Call.HOLD, Call.RELEASE)
        name, come = text.arguments[1:3] if updates else text.arguments[:2]
        seen = None if job is None or job.state == GONE else shown(job)[name]
        if seen is not None and come and int(seen) <= T0:
            seen = COME
        if seen != address.expected and self.rules.looks:
            return self._told(script, 76)._replace(at="over")
        named = self.program.tasks[script.task].action in ("requeue", "cancel of execution 0")
        if named and job is not None and job.restarts:
            raise Broken("execution", f"execution {job.restarts} was to be ended")
        ((nonce, _text),) = self.engine.sent[script.send][0]
        out = f"\x1eDSL {nonce} sent 1\n".encode()
        return script._replace(at="call", out=out)

    def _call(self, state: State, script: Script) -> Iterator[tuple[str, Script, State]]:
        """What may become of a call."""
        deed = self._deed(script)
        job, refusal = done(state.job, deed)
        kind, number = deed.kind, self._text(script.send).addresses[0].text
        status, text = (1, _line(kind, refusal, number)) if refusal else (0, "")
        handled = self._landed(state, script, job, False)
        yield f"{kind} is handled", self._told(script, status, text), handled
        if not state.faults:
            return
        lost = _line(kind, "Unexpected message received", number)
        bad = 140 if kind == "cancel" else 1
        yield f"{kind} lands, its answer is lost", self._told(script, bad, lost), _fault(handled)
        if kind in ("hold", "release", "set", "clear", "open") and not refusal:
            words = _line(kind, "Requested partition configuration not available now", number)
            told = self._told(script, 1, words)
            yield f"{kind} lands, and is answered with an error", told, _fault(handled)
        flying = self._fly(_fault(state), script)
        yield f"{kind} is not answered", self._told(script, bad, lost), flying
        yield f"{kind} hangs", script._replace(at="hang"), flying
        yield f"{kind} can't be started", self._told(script, 127), _fault(state)

    def _fly(self, state: State, script: Script) -> State:
        if script.at == "hang":  # it flies already
            return state
        by = self._instants(state.tasks[script.task].deadline)[1]
        flight = Flight(script.task, script.send, self._deed(script), by, script.order)
        return state._replace(flights=tuple(sorted((*state.flights, flight))))

    # The module

    def _task(self, state: State, place: int) -> Steps:
        one = state.tasks[place]
        if one.at in ("over", "dead"):
            return
        if one.at == "waiting":
            yield from self._start(state, place)
            return
        if state.faults:
            yield f"task {place} is killed", _dead(_fault(state), place)
        if one.at == "read":
            calls: tuple[Script | Flight, ...] = (*state.scripts, *state.flights)
            pending = frozenset(call.send for call in calls if call.task != place)
            read = one._replace(at="plan", first=state.job, read_at=state.now, pending=pending)
            yield f"task {place} reads", _put(state, place, read)
            if state.faults:
                read = one._replace(at="plan", first=None, read_at=state.now)
                yield f"task {place} reads nothing", _put(_fault(state), place, read)
        elif one.at == "script":
            yield from self._read_script(state, place)
        else:
            yield from self._plan(state, place)

    def _start(self, state: State, place: int) -> Steps:
        before = state.tasks[:place]
        over = all(one.at in ("over", "dead") for one in before)
        begun = all(one.at != "waiting" for one in before)
        if over or (begun and self.program.together):
            started = Running("read", self.engine.deadline(state.now), before=state.job)
            yield f"task {place} starts", _put(state, place, started)

    def _plan(self, state: State, place: int) -> Steps:
        """A round up to its script, with the read that it began with, or one of now."""
        one, doing = state.tasks[place], self.program.tasks[place]
        for faults in range(2 if state.faults and one.at == "round" else 1):
            job = None if faults else state.job
            mail = Mail(state.now, job, state.journal)
            first = mail
            if one.at == "plan":
                first = Mail(one.read_at, one.first, ())
            made = self.engine.plan(
                doing.action, one.deadline, doing.settle, one.state, first, mail
            )
            after = _fault(state) if faults else state
            after = after._replace(journal=made.journal)
            if made.send is None:
                what = f"task {place} goes on" + (", reading nothing" if faults else "")
                yield what, self._went_on(after, place, made, job)
                continue
            waiting = one._replace(
                at="script",
                send=made.send,
                first=None,
                read_at=0,
                state="",
                pending=frozenset(),
                undone=False,
                order=len(made.journal),
            )
            script = self._started(after, place, made.send)
            if after.faults:
                yield f"task {place} is killed before its script", _dead(_fault(after), place)
            spawned = after._replace(scripts=(*after.scripts, script))
            yield f"task {place} starts its script", _put(spawned, place, waiting)

    def _read_script(self, state: State, place: int) -> Steps:
        one = state.tasks[place]
        for where, script in enumerate(state.scripts):
            if (script.task, script.send) != (place, one.send):
                continue
            over = script.at in ("over", "killed")
            late = state.now >= self._instants(one.deadline)[0]
            status = script.last if script.at == "over" else -9 if over else None
            rest = state.scripts[:where] + state.scripts[where + 1 :]
            left = state._replace(scripts=rest) if over else state
            if over:
                yield from self._ended(left, place, (status, script.out, script.err), "the end")
            if state.faults and (over or late):
                for what, out, err in _cut(script, over):
                    yield from self._ended(_fault(left), place, (status, out, err), what)

    def _ended(
        self, state: State, place: int, end: tuple[int | None, bytes, bytes], what: str
    ) -> Steps:
        one, doing = state.tasks[place], self.program.tasks[place]
        for faults in range(2 if state.faults else 1):
            job = None if faults else state.job
            made = self.engine.end(
                doing.action,
                one.deadline,
                doing.settle,
                one.send,
                end,
                Mail(state.now, job, state.journal),
            )
            after = _fault(state) if faults else state
            after = after._replace(journal=made.journal)
            text = f"task {place} reads {what}" + (" and no job" if faults else "")
            yield text, self._went_on(after, place, made, job)

    def _went_on(self, state: State, place: int, made: Made, seen: Job | None) -> State:
        one = state.tasks[place]
        if made.failed:
            return _put(state, place, one._replace(at="over", first=None, read_at=0, state=""))
        if made.state:
            return _put(
                state, place, one._replace(at="round", first=None, read_at=0, state=made.state)
            )
        claim = self.engine.claim(made.result)
        if one.at == "plan":
            self._check_read(state, place, claim)
        else:
            self._check_claim(state, place, claim, seen)
        self._check_again(state, place, claim)
        said = Running(
            "over",
            one.deadline,
            claim=claim,
            landed=one.landed,
            touched=one.touched,
            order=one.order or len(state.journal) + 1,
        )
        return _put(state, place, said)

    def _check_read(self, state: State, place: int, claim: Claim) -> None:
        """What was said from the first read alone, with nothing sent."""
        one, action = state.tasks[place], self.program.tasks[place].action
        if claim.outcome != "unchanged" or one.first is None:
            return
        if not effect(action, one.first) and one.first.state != PENDING:
            raise Broken("applied", f"{action} is said to be unchanged, and was not in effect")
        others = [task for task in state.tasks[:place] if task.claim is None]
        if one.undone and others:  # one that has its say meanwhile comes after this one
            raise Broken(
                "undone", f"{action} is said to be unchanged, and an earlier call undid it"
            )

    def _check_claim(self, state: State, place: int, claim: Claim, seen: Job | None) -> None:
        one, action = state.tasks[place], self.program.tasks[place].action
        unseen = seen is None or seen.state == GONE
        # A crash may have undone more than what was landed.
        crashed = self.crash and state.saved is None
        job = state.job
        undone = not effect(action, job) if crashed else _as_before(one, job)
        if claim.outcome == "applied":
            # Of a job that has ended, nothing is in effect any more: it was, if it has landed.
            over = unseen or state.job.state not in LIVE
            if not (effect(action, state.job) or (over and one.landed)):
                raise Broken("applied", f"{action} is not in effect")
        elif claim.denies and one.landed:
            raise Broken("denied", f"{claim.outcome} was said, and it has landed")
        elif claim.outcome == "not_applied" and one.landed and not undone:
            raise Broken("not_applied", "it has landed")
        if claim.outcome == "unchanged" and not unseen and not effect(action, state.job):
            raise Broken("applied", f"{action} is said to be unchanged, and is not in effect")
        ours = state.bit_by == place and state.job.state in LIVE
        if claim.bit_left == "no" and ours and not (crashed and unseen):
            raise Broken("bit", "the bit is said to be off, and is set")

    def _check_again(self, state: State, place: int, claim: Claim) -> None:
        action = self.program.tasks[place].action
        earlier = state.tasks[place - 1] if place else None
        if earlier and earlier.claim and not (earlier.touched or self.program.together):
            same = self.program.tasks[place - 1].action == action
            good = earlier.claim.outcome in ("applied", "unchanged")
            if same and good and claim.outcome not in ("unchanged", "unknown"):
                raise Broken("again", f"{claim.outcome} was said of what was done")


def _as_before(one: Running, job: Job) -> bool:
    """Whether the job shows what it did when the task began, but for what others may change."""
    before = one.before
    return before is not None and (before.begin, before.gate, before.bit, before.restarts) == (
        job.begin,
        job.gate,
        job.bit,
        job.restarts,
    )


def _fault(state: State) -> State:
    return state._replace(faults=state.faults - 1)


def _dead(state: State, place: int) -> State:
    """A task's process dies; its script goes on, and nobody reads what it writes."""
    one = state.tasks[place]
    dead = Running("dead", one.deadline, landed=one.landed, touched=one.touched)
    scripts = tuple(
        script
        for script in state.scripts
        if script.task != place or script.at not in ("over", "killed")
    )
    return _put(state._replace(scripts=scripts), place, dead)


def _put(state: State, place: int, one: Running) -> State:
    return state._replace(tasks=state.tasks[:place] + (one,) + state.tasks[place + 1 :])


def _line(kind: str, message: str, number: str) -> str:
    """A refusal as scontrol and scancel print it."""
    if kind == "cancel":
        return f"scancel: error: Kill job error on job id {number}: {message}\n"
    second = f"slurm_suspend error:{message}\n" if kind == "open" else ""
    return f"{message} for job {number}\n{second}"


def _cut(script: Script, over: bool) -> Iterator[tuple[str, bytes, bytes]]:
    """The streams of a script as a full disk or an early look leaves them."""
    if not over:
        yield "a script that goes on", script.out, script.err
    lines = [b"\x1e" + one for one in script.err.split(b"\x1e")[1:]]
    if lines:
        yield "no errors", script.out, b""
        yield "a torn end", script.out, script.err[:-3]
        yield "the end without a newline", script.out, script.err[:-1]
    if len(lines) > 1:
        yield "all but the last call", script.out, b"".join(lines[:-1])
        yield "all but the first call", script.out, b"".join(lines[1:])
    if len(lines) > 2:
        yield "all but the middle call", script.out, lines[0] + lines[2]
    if script.out:
        yield "no output", b"", script.err
