"""The demo's chapters, in order."""

from __future__ import annotations

from ..views import deployment as deployment_view
from ..views import out
from ..views import plan as plan_view
from ..views import status as status_view
from ..views import teardown as teardown_view
from ..views.demo import block
from ..views.text import count
from .crash import deploy_and_kill
from .files import agents_for, write_agents
from .stage import Stage


def play(stage: Stage) -> None:
    """All chapters. Expectations that fail are noted, errors go up."""
    agents = agents_for(stage.scene.cloud, stage.scene.region)
    write_agents(stage.folder, agents)
    before = _account_before(stage, agents)
    _plan(stage)
    _deploy(stage)
    _environment(stage)
    _no_changes(stage)
    _crash(stage)
    _repair(stage)
    _talk(stage)
    _teardown(stage, before)


def _account_before(stage: Stage, agents: dict[str, str]) -> dict[str, list[str]]:
    stage.chapter(
        f"{stage.scene.account} with a network, and two agents",
        "Everything here runs on this machine; no cloud is touched.",
    )
    before = stage.inventory()
    stage.say("\nIn the account:")
    stage.show_inventory(before)
    if not stage.quiet:
        for name, text in agents.items():
            out.data(f"\n{name}/agent.yaml:")
            block(text)
    return before


def _plan(stage: Stage) -> None:
    from agentbreeder_provisioners import plan

    stage.chapter("Plan")
    stage.command("agentbreeder plan support-bot")
    result = plan(stage.folder / "support-bot", network_env=stage.sandbox.network_env())
    if not stage.quiet:
        plan_view.show(result)
        out.data("")
    stage.expect("memory and knowledge base share one PostgreSQL", len(result.plan.provisioned()) == 1)
    stage.expect("planning made no call to the cloud", not stage.sandbox.calls)


def _deploy(stage: Stage) -> None:
    stage.chapter("Deploy")
    done = stage.deploy("support-bot")
    if not stage.quiet:
        deployment_view.show(done, "")
        out.data("")
    stage.expect("every resource is ready", all(r.phase == "ready" for r in done.resources))
    stage.expect("the database is in the account", len(stage.inventory()[stage.scene.databases]) == 1)


def _environment(stage: Stage) -> None:
    from agentbreeder_provisioners import environment
    from agentbreeder_provisioners.env_formats import render

    stage.chapter(
        "Hand it to the container", f"{stage.scene.container} takes this as it is; the password stays in the vault."
    )
    stage.command(f"agentbreeder env support-bot --format {stage.scene.env_format} --project-dir support-bot")
    folder = stage.folder / "support-bot"
    text = render(environment("support-bot", project_dir=folder), stage.scene.env_format)
    if not stage.quiet:
        block(text)
        out.data("")
    revealed = environment("support-bot", project_dir=folder, reveal=True, clock=stage.sandbox.clock).revealed
    state = (folder / ".agentbreeder" / "infra-state.json").read_text(encoding="utf-8")
    url = revealed["DATABASE_URL"].reveal()
    password = url.partition("://")[2].partition("@")[0].partition(":")[2]
    hidden = bool(password) and password not in text and password not in state
    stage.expect("the password is in the vault, not in the definition and not in the state file", hidden)


def _no_changes(stage: Stage) -> None:
    stage.chapter("Deploy again")
    calls = len(stage.sandbox.calls)
    done = stage.deploy("support-bot")
    if not stage.quiet:
        plan = done.planned.plan
        out.data(f"{plan.agent}: {'changed' if done.changed else 'no changes'}")
    made = [c.operation for c in stage.sandbox.calls[calls:] if not c.read]
    stage.expect("no changes, and no call that changes anything", not done.changed and not made)


def _crash(stage: Stage) -> None:
    from agentbreeder_provisioners import status

    stage.chapter(
        "Kill a deploy in the middle",
        f"A second process deploys router-bot. It is killed (SIGKILL) when {stage.scene.title} has taken the order for the "
        "Redis, but before the answer is back: the store will exist, and nobody was told its id.",
    )
    stage.command("agentbreeder deploy router-bot --yes")
    code = deploy_and_kill(stage.sandbox, stage.folder / "router-bot", operation=stage.scene.killed_at)
    stage.say(f"(killed, exit code {code})")
    stage.command("agentbreeder status router-bot --project-dir router-bot")
    agents = status("router-bot", project_dir=stage.folder / "router-bot")
    if not stage.quiet:
        status_view.show(agents, ())
    phases = {r.resource.step_id: r.resource.phase for r in agents[0].resources}
    stage.expect("the process is dead", code != 0)
    stage.expect("the intent was on disk before the call", phases.get(stage.scene.store_step) == "intent")
    stage.expect(f"{stage.scene.title} makes the store all the same", len(stage.inventory()[stage.scene.stores]) == 1)


def _repair(stage: Stage) -> None:
    stage.chapter("Run it again", "The same command finds the store by its name and its tags, and goes on.")
    done = stage.deploy("router-bot")
    if not stage.quiet:
        deployment_view.show(done, "")
        out.data("")
    stage.expect("still exactly one Redis", len(stage.inventory()[stage.scene.stores]) == 1)
    stage.expect("and the agent has its URL", "REDIS_URL" in {**done.env, **done.secret_env})


def _talk(stage: Stage) -> None:
    stage.chapter(
        "Talk to the agents, and kill them",
        "Behind the stores are a real PostgreSQL and a real Redis. Each agent runs in a process of its own with what deploy "
        "recorded, its secret read from the vault by reference.",
    )
    for agent, store in (("support-bot", "PostgreSQL"), ("router-bot", "Redis")):
        stage.say_to(agent, "My order is 4711", kill=True)
        stage.say("(killed)\n")
        answer = " ".join(stage.say_to(agent, "What was my order?"))
        stage.say("")
        stage.expect(f"the agent on {store} remembers what was said before it was killed", "My order is 4711" in answer)


def _teardown(stage: Stage, before: dict[str, list[str]]) -> None:
    stage.chapter("Tear down")
    for agent in ("support-bot", "router-bot"):
        done = stage.teardown(agent)
        if not stage.quiet:
            teardown_view.show(done)
            out.data("")
    after = stage.inventory()
    stage.say("In the account now:")
    stage.show_inventory(after)
    waiting = count(len(stage.waiting()), "deleted name")
    stage.say(f"    (and {waiting} {stage.scene.waiting_words})\n")
    stage.expect("the account is as it was before", after == before)
