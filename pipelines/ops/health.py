"""Is the installation well? What was looked at in, one finding per thing out; pure, so that each can be tested."""

from collections.abc import Iterator

from schemas.health import Checkup, Finding, Level, PromptHealth, QueueHealth, ServerHealth

OLDEST_SERVER = 150_000
"""PostgreSQL 15."""
OLDEST_VECTOR = (0, 8)
"""pgvector that goes on walking its index until enough rows have passed a filter."""
LATE = 5.0
"""Seconds. Healthy processes take what is due within half of one."""


def findings(checkup: Checkup) -> list[Finding]:
    return [
        *_postgres(checkup.server),
        *_redis(checkup),
        *(_workers(queue) for queue in (checkup.server.queues if checkup.server else ())),
        *_crowding(checkup),
        *_webhooks(checkup.server),
        *_models(checkup),
        *_rate_limits(checkup.server),
        *_prompt(checkup.prompt),
        _storage(checkup),
        *_memory(checkup),
        *_given_up(checkup.server),
        *_settings(checkup),
    ]


def _settings(checkup: Checkup) -> Iterator[Finding]:
    if checkup.set_in_vain:
        sentence = f"set, and read by nothing in this version: {', '.join(checkup.set_in_vain)}"
        yield _warn("settings", sentence, "leave them out, or know that they change nothing")


def all_well(found: list[Finding]) -> bool:
    return all(finding.level is not Level.WRONG for finding in found)


def _ok(check: str, sentence: str) -> Finding:
    return Finding(check=check, level=Level.OK, sentence=sentence)


def _warn(check: str, sentence: str, to_do: str) -> Finding:
    return Finding(check=check, level=Level.WARNING, sentence=sentence, next=to_do)


def _wrong(check: str, sentence: str, to_do: str) -> Finding:
    return Finding(check=check, level=Level.WRONG, sentence=sentence, next=to_do)


def _postgres(server: ServerHealth | None) -> Iterator[Finding]:
    if server is None:
        yield _wrong("postgres", "PostgreSQL does not answer: nothing can be taken in", "bring it back; see its log")
        return
    version = f"{server.version // 10_000}.{server.version % 10_000}"
    if server.version < OLDEST_SERVER:
        yield _wrong("postgres", f"PostgreSQL {version} is too old", "run PostgreSQL 15 or newer")
    else:
        yield _ok("postgres", f"PostgreSQL {version} answers")
    if not server.fits:
        sentence = f"the schema is at {server.migration or 'nothing'}, this version needs {server.newest}"
        yield _wrong("migration", sentence, "run `replique migrate`")
    else:
        yield _ok("migration", f"the schema is at {server.migration}")
    if server.vector is None:
        yield _wrong("pgvector", "pgvector cannot be had from this server", "install it, then run `replique migrate`")
    elif _numbers(server.vector) < OLDEST_VECTOR:
        sentence = f"pgvector {server.vector} is too old: a large library would not be searched through"
        yield _wrong("pgvector", sentence, "install 0.8 or newer, then `ALTER EXTENSION vector UPDATE`")
    else:
        yield _ok("pgvector", f"pgvector {server.vector} can be had")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _memory(checkup: Checkup) -> Iterator[Finding]:
    if checkup.server is None or checkup.embeds is None:
        return
    others = {model: n for model, n in checkup.server.vectors_of.items() if model != checkup.embeds}
    if others:
        done, all_of_them = checkup.server.vectors_of.get(checkup.embeds, 0), sum(checkup.server.vectors_of.values())
        sentence = (
            f"{all_of_them - done} of {all_of_them} passages have vectors of {', '.join(sorted(others))}: until they "
            f"are embedded again by {checkup.embeds}, they are found by their words alone, not by their meaning"
        )
        to_do = "wait while their number falls; else start a background worker, with the settings of the others"
        yield _warn("memory", sentence, to_do)
    else:
        yield _ok("memory", f"every stored passage was embedded by {checkup.embeds}")


def _redis(checkup: Checkup) -> Iterator[Finding]:
    redis, late = checkup.redis, max((q.unseen for q in checkup.server.queues), default=0.0) if checkup.server else 0.0
    if redis.get("configured") is False:
        yield _wrong("redis", "REDIS_URL is not set for the gateway", "set it to the Redis that the workers use")
    elif not redis.get("reachable"):
        yield _wrong("redis", "Redis does not answer: messages are taken, replies wait", "bring it back")
    else:
        yield _ok("redis", "Redis answers")
    if redis.get("reachable") and not redis.get("clock_seen"):
        yield _wrong("clock", "no clock has looked within the last seconds", "start one (`replique clock`)")
    elif late > LATE:
        yield _wrong("clock", f"a row is due for {late:.0f} s and no clock has sent it out", "read the clock's log")
    elif redis.get("reachable"):
        yield _ok("clock", "a clock looks, and nothing that is due waits for it")


def _workers(queue: QueueHealth) -> Finding:
    check = f"workers {queue.queue}"
    if queue.untaken > LATE and not queue.working:
        sentence = f"a hint waits for {queue.untaken:.0f} s and nobody works on queue {queue.queue}"
        return _wrong(check, sentence, f"start a worker (`replique worker --queues {queue.queue}`)")
    if queue.lost:
        sentence = f"leases that are over: {queue.lost}; their worker died or cannot reach the database"
        return _warn(check, sentence, "wait for a lease's time; if it stays, read the workers' logs")
    if queue.untaken > LATE:
        sentence = f"all are busy: a hint waits for {queue.untaken:.0f} s, rows in hand before it: {queue.working}"
        return _warn(check, sentence, f"start more workers (`replique worker --queues {queue.queue}`)")
    if queue.working:
        return _ok(check, f"processes at work: {queue.workers}, rows in hand: {queue.working}; every lease is renewed")
    return _ok(check, "nothing is in hand and nothing waits")


def fair_share(threads: int) -> int:
    """How many of a worker's threads one organisation may hold without being felt by the others: a quarter."""
    return max(1, threads // 4)


def _crowding(checkup: Checkup) -> Iterator[Finding]:
    if checkup.server is None or not checkup.server.crowding:
        return
    sentence = (
        f"may hold more than {fair_share(checkup.threads)} of a worker's {checkup.threads} threads, so their flood "
        f"holds up others: {', '.join(checkup.server.crowding)}"
    )
    to_do = "lower limits.in_flight of these Organizations, or raise REPLIQUE_WORKER__THREADS"
    yield _warn("fairness", sentence, to_do)


def _webhooks(server: ServerHealth | None) -> Iterator[Finding]:
    if server is None:
        return
    if server.disabled_webhook:
        sentence = f"disabled by their receiver (410): {', '.join(server.disabled_webhook)}"
        yield _wrong("webhooks", sentence, "apply the Organization with a webhook that works")
    if server.no_webhook:
        sentence = f"without a webhook, so replies only lie in the built-in inbox: {', '.join(server.no_webhook)}"
        yield _warn("webhooks", sentence, "give each Organization a webhook {url, secret}")
    if server.failing_webhook:
        sentence = f"fail again and again, so replies wait on the way: {', '.join(server.failing_webhook)}"
        yield _warn("webhooks", sentence, "`replique explain` of such a conversation says what the receiver answers")
    if not server.disabled_webhook and not server.no_webhook and not server.failing_webhook:
        yield _ok("webhooks", f"all organisations have one: {server.organizations}")


def _models(checkup: Checkup) -> Iterator[Finding]:
    for task, model in checkup.routes.items():
        if model is None:
            yield _wrong(f"model {task}", f"no model can be asked for task {task}", "set a key: ANTHROPIC_API_KEY")
        else:
            yield _ok(f"model {task}", f"task {task} asks {model}")
    if checkup.left_out:
        sentence = f"left out of their routes, because their provider has no key: {', '.join(checkup.left_out)}"
        yield _warn("models", sentence, "set the provider's key, or take them off the routes")
    if checkup.down:
        sentence = f"left alone, because their calls fail: {', '.join(checkup.down)}; the next of their routes answer"
        to_do = "wait while the provider is down; a name that it does not know any more is to be changed in the route"
        yield _warn("models down", sentence, to_do)
    if checkup.unpriced:
        sentence = f"no price is known: {', '.join(checkup.unpriced)}; their calls are in no sum of money and no budget"
        yield _warn("prices", sentence, "update genai-prices, or take them off the routes")
    if checkup.simulator:
        to_do = "set ANTHROPIC_API_KEY before real people write"
        yield _warn("simulator", "A SIMULATOR ANSWERS: no model is asked, every reply is made up", to_do)


def _rate_limits(server: ServerHealth | None) -> Iterator[Finding]:
    if server is None or not server.rate_limited:
        return
    sentence = (
        f"a provider asked to come back later (429): jobs parked: {server.rate_limited},"
        f" the last for {server.rate_limited_seconds:.0f} s more"
    )
    to_do = "wait: they go on little by little, 1, 2, 4 … calls a step; more quota at the provider if it lasts"
    yield _warn("rate limits", sentence, to_do)


def _prompt(prompt: PromptHealth | None) -> Iterator[Finding]:
    if prompt is None:
        return
    parts = ", ".join(f"{name} {tokens}" for name, tokens in prompt.segments.items())
    measured = f"about {prompt.tokens} tokens ({parts}), {prompt.model} caches from {prompt.minimum}"
    if prompt.missing:
        sentence = f"the prompt of persona {prompt.persona} is too short to be cached: {measured}{_price_of_it(prompt)}"
        to_do = f"write some {prompt.missing} tokens more into its instructions, or ask a model with a lower minimum"
        yield _warn("prompt", sentence, to_do)
    else:
        yield _ok("prompt", f"the shortest prompt prefix is cached ({prompt.persona}): {measured}")


def _price_of_it(prompt: PromptHealth) -> str:
    if prompt.read_short is None or prompt.read_filled is None:
        return f"; {prompt.missing} are missing"
    return (
        f"; {prompt.missing} are missing. A thousand model calls pay ${prompt.read_short:.2f} for it in full, "
        f"filled up they would read it for ${prompt.read_filled:.2f}"
    )


def _storage(checkup: Checkup) -> Finding:
    url = checkup.storage_url
    if url is None:
        return _warn("storage", "STORAGE_URL is not set: voices have no place", "set it to a folder or a bucket")
    if checkup.storage is not None:
        return _wrong("storage", f"the file store does not work: {checkup.storage}", "see STORAGE_URL and its rights")
    if url.startswith("s3:"):
        return _ok("storage", "the bucket took a file and gave it back")
    if checkup.local:
        return _ok("storage", "the folder took a file and gave it back; everything runs on this machine")
    to_do = "mount the same folder everywhere, or use s3://…"
    return _warn("storage", "files lie in a folder: every gateway and worker must see the same one", to_do)


def _given_up(server: ServerHealth | None) -> Iterator[Finding]:
    if server is None or not (server.failed_jobs or server.dead_letters):
        return
    sentence = f"jobs that want attention: {server.failed_jobs}, open dead letters: {server.dead_letters}"
    yield _warn("attention", sentence, "`replique jobs list --attention`, then decide on each")
