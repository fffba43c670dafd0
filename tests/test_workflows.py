"""GitHub workflows cannot be run locally; what they refer to must exist, and their permissions must be minimal."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# What a workflow's job "publish" may do: trusted publishing on PyPI, and GitHub Pages.
PUBLISHING = {"publish": {"id-token": "write"}, "docs": {"id-token": "write", "pages": "write"}}
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def workflow(request):
    return yaml.safe_load(request.param.read_text(encoding="utf-8"))


def commands(workflow):
    return "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job.get("steps", []))


def test_commands_refer_to_targets_and_scripts_that_exist(workflow):
    assert set(re.findall(r"\bmake ([\w-]+)", commands(workflow))) <= set(TARGETS)
    mentioned = re.findall(r"\b(?:scripts|tests)/[\w./-]+", commands(workflow))
    assert [path for path in mentioned if not (ROOT / path).is_file()] == []


def test_needed_jobs_and_called_workflows_exist(workflow):
    jobs = workflow["jobs"]
    assert {job["needs"] for job in jobs.values() if "needs" in job} <= jobs.keys()
    called = [ROOT / job["uses"] for job in jobs.values() if "uses" in job]
    assert [path for path in called if path not in WORKFLOWS] == []


def test_only_publishing_has_more_than_read_access(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    granted = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert granted in ({}, {"publish": PUBLISHING.get(workflow["name"])})
