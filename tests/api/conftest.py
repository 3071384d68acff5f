"""One server for the session; organizations of their own for each test file and, where wanted, each test."""
import contextlib
import os
import pathlib

import pytest

import api_folders  # noqa: F401
from wharf import MODULES, Server, make_location


# The files that take longest come first: processes that take file after file then end at about the same time.
LONGEST = [
    "http_heads", "hostile_bodies", "integration_workflows", "scrub", "inference_batches",
    "document_s3", "inference_later", "document_words", "events_stream", "search_means_the_same",
    "document_preview", "exports", "inference", "inference_options", "item_labels",
    "order_of_checks", "batches_limits", "slow_and_ending", "document_retention", "hook_library",
    "batches_resources", "batches_sets", "batches_sets_goods", "lua_hooks", "contact_match",
    "blobs", "jobs", "document_clamd", "database_trouble", "outgoing_walls", "audits",
    "document_direct", "audits_stock", "stock_hooks", "incoming", "tls", "batches_background",
    "document_disk", "http_rules", "boms", "hook_ends", "hook_watch", "contacts", "webhook_health",
    "limits", "label_sources", "hook_routes", "operation", "webhook_delivery", "document_settings",
    "events_processing", "hook_jobs", "mail"]


# Leaves these out for newcomers (./test without a name): attacks, faults, limits, races, models and what else takes long. ./test --all and ./test api
# run these too.
THOROUGH = {
    "audits_beside", "audits_model", "audits_stock", "batches_background", "batches_limits",
    "batches_resources", "batches_sets", "batches_sets_goods", "blame", "blobs", "clock_jump",
    "contact_match", "creates_together", "cursor_walk", "customer_send", "database_trouble",
    "declarations", "document_clamd", "document_direct", "document_disk", "document_preview",
    "document_races", "document_retention", "document_s3", "document_settings",
    "document_words", "events_processing", "events_stream", "fetch", "fulfillment_model",
    "hook_ends", "hook_library", "hook_watch", "hostile_bodies", "http_heads", "image_service",
    "inference_batches", "inference_cells", "inference_kept", "inference_later",
    "inference_members", "inference_options", "inference_places", "inference_rules",
    "inference_urls", "integration_workflows", "job_shares", "jobs", "label_sources", "limits",
    "mail", "memory", "operation", "order_of_checks", "outgoing_walls", "plans", "pooler",
    "print_hostile", "print_sources", "processes", "readiness", "receiving_model",
    "request_log", "scrub", "search_means_the_same", "slow_and_ending", "sql_names",
    "stock_hooks", "template_failures", "told_at_start", "webhook_health", "workers",
    "workflow_memory", "workflow_rules", "workflow_share", "workflow_tells",
    "workflow_triggers", "workflow_turns"}


def pytest_ignore_collect(collection_path, config):
    if config.getoption("--newcomer") and collection_path.name[len("test_"):-len(".py")] in THOROUGH:
        return True
    return None


def pytest_addoption(parser):
    with contextlib.suppress(ValueError):  # another folder of the same run has said it
        parser.addoption("--newcomer", action="store_true", help="without the files that take long")
        parser.addoption("--long", action="store_true", help="as many writers as the acceptance of the suite asks for")


def pytest_configure(config):
    config.addinivalue_line("markers", "usual_settings: fails with the settings of everything.py")


def pytest_collection_modifyitems(items):
    rank = {f"test_{name}.py": i for i, name in enumerate(LONGEST)}
    if os.environ.get("WHARF_TEST_EVERYTHING"):
        for item in items:
            if item.get_closest_marker("usual_settings"):
                item.add_marker(pytest.mark.skip(reason="is about settings that everything.py changes"))
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test says how its servers are: much of what fails once in a thousand runs is told by nothing else."""
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        for s in Server.running[-2:]:
            report.sections.append((f"server {s.folder.name}", s.condition()))


@pytest.fixture(scope="session")
def session_server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture(scope="session")
def server(session_server):
    """The server of a test file: it may put another one in its place."""
    return session_server


@pytest.fixture(scope="session")
def plain_server(session_server):
    """For tests of what stands on the wire: without TLS, also where all others have it (everything.py)."""
    if session_server.base.startswith("http://"):
        yield session_server
        return
    s = Server("--modules", MODULES, "--set", "tls.certificate=")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def org(server):
    """An organization that the tests of one file share."""
    return server.organization()


@pytest.fixture(scope="module")
def client(org):
    return org.client()


@pytest.fixture(scope="module")
def location(client):
    return make_location(client)


@pytest.fixture
def fresh(server):
    """An organization for one test."""
    return server.organization()
