"""Every check of `wharf verify` that a shipped module or the server declares finds nothing in a world that used every resource, and finds what it is there
for when that is broken in the database. A check without a breakage in the table here fails.

The world's processes stand still meanwhile, so that nobody mends what is broken, or falls over it.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "isolation"))

from receivers import Receivers  # noqa: E402
from walls import Walls  # noqa: E402
from wharf import MODULES, ROOT, WAIT, Server, process_state, until  # noqa: E402

# Rows that are there for a moment only, between what asks for them and what is done.
PASSING = {"events.outbox", "jobs.lines", "jobs.workers", "webhooks.queue_heads"}


def pick(columns, table, where="true", order="1", skip=0):
    """One row of a table. Breakages of one check take different rows."""
    return f"(SELECT {columns} FROM {table} WHERE {where} ORDER BY {order} LIMIT 1 OFFSET {skip})"


def damage(world):
    path = next(f for f in sorted((world.server.folder / "blobs" / "objects").glob("*/*")))
    path.write_bytes(b"something else")
    return [path.name]


def lose(world):
    (hash, id), = world.server.sql("SELECT DISTINCT ON (hash) hash, id FROM wharf.file WHERE state = 'stored' ORDER BY hash DESC, expires_at DESC NULLS FIRST LIMIT 1")
    (world.server.folder / "blobs" / "objects" / hash[:2] / hash).unlink()
    return [id]


JOB = "INSERT INTO wharf.job (organization_id, queue, lane, key, state, run_at, args, worker, created_at) VALUES ('org_x', 'none.such', 'none.such', {}, {}, now() + interval '1 day', '{{}}', {}, now()) RETURNING 'job_' || id"
MEMBER = "resource = 'contact' AND jsonb_array_length(children) > 0 AND deleted_at IS NULL"

# check: what breaks it (SQL that answers the ids that are wrong then, or a function), and what is said of each
BREAKAGES = {
    "assets.asset_items": [
        (f"UPDATE assets.asset SET item_id = 'item_gone' WHERE id = {pick('id', 'assets.asset', 'archived_at IS NULL')} RETURNING id", "names the item item_gone, which is not there"),
        (f"WITH i AS (UPDATE items.item SET is_asset = false WHERE id = {pick('item_id', 'assets.asset', 'archived_at IS NULL', skip=1)} RETURNING id) SELECT a.id FROM assets.asset a JOIN i ON i.id = a.item_id",
         "is of the item item_.*, which is no asset")],
    "assets.asset_layouts": [
        (f"UPDATE assets.asset SET layout_id = NULL WHERE id = {pick('id', 'assets.asset')} RETURNING id", "stands in the layout null, which is none of loc_"),
        (f"UPDATE assets.asset SET layout_id = 'lay_gone' WHERE id = {pick('id', 'assets.asset', skip=1)} RETURNING id", "stands in the layout lay_gone, which is none of loc_")],
    "assets.asset_names": [
        (f"UPDATE assets.asset SET name = 'Other' WHERE id = {pick('id', 'assets.asset', skip=2)} RETURNING id", "is called Other, its item "),
        (f"UPDATE assets.asset SET sku = 'OTHER' WHERE id = {pick('id', 'assets.asset', skip=1)} RETURNING id", "is called ")],
    "documents.document_bytes": [
        (f"UPDATE documents.document SET size = size + 1 WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL')} RETURNING id", "is completed, and its file file_.* is not [0-9]+ bytes of [0-9a-f]{64}"),
        (f"UPDATE documents.document SET checksum_sha256 = repeat('0', 64) WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL', skip=1)} RETURNING id", "is not [0-9]+ bytes of 000"),
        (f"UPDATE documents.document SET file_id = 'file_gone' WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL', skip=2)} RETURNING id", "its file file_gone is not")],
    "documents.document_names": [
        (f"DELETE FROM wharf.token WHERE kind = 'documents.document' AND id = {pick('id', 'documents.document', 'deleted_at IS NULL')} RETURNING id", "is public, and has no name"),
        (f"UPDATE documents.document SET visibility = 'private' WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL', skip=1)} RETURNING id", "is private, and has a name")],
    "documents.document_previews": [
        (f"INSERT INTO documents.preview SELECT organization_id, id, number, 1, 400, 'file_gone', 'x', now() FROM documents.document WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL')} RETURNING document_id", "has a picture of page 1 of version 1 without its file file_gone"),
        (f"INSERT INTO documents.preview SELECT organization_id, id, 77, 1, 400, file_id, 'x', now() FROM documents.document WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL', skip=1)} RETURNING document_id", "has a picture of page 1 of version 77, which is not there")],
    "documents.document_versions": [
        (f"UPDATE documents.document SET versions_count = 7 WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL')} RETURNING id", "says that it has 7 versions up to 1 .*, and has 1 up to 1"),
        (f"DELETE FROM documents.version WHERE document_id = {pick('id', 'documents.document', 'deleted_at IS NULL', skip=1)} RETURNING document_id", "says that it has 1 versions up to 1 .*, and has 0 up to 0"),
        (f"UPDATE documents.document SET number = 9 WHERE id = {pick('id', 'documents.document', 'deleted_at IS NULL', skip=2)} RETURNING id", "versions up to 9 with the file")],
    "batches.batch_chunks": [
        (f"UPDATE batches.chunk SET first = 5 WHERE (batch_id, number) = {pick('batch_id, number', 'batches.chunk')} RETURNING batch_id", "begins with item 5"),
        (f"INSERT INTO batches.chunk (organization_id, batch_id, number, first, size, items, states) SELECT organization_id, batch_id, number + 1, first + size + 3, 1, '[{{}}]', 'c'"
         f" FROM batches.chunk WHERE batch_id = {pick('batch_id', 'batches.chunk', skip=1)} RETURNING batch_id", r"has item 4 behind item 0"),
        ("INSERT INTO batches.line (organization_id, batch_id, index, phase, code, line) SELECT organization_id, id, 77, 'processing', 'x', '{}'"
         " FROM batches.batch WHERE id = (SELECT max(id) FROM batches.batch) RETURNING batch_id", "tells of item 77, which it does not have")],
    "batches.batch_ends": [
        (f"UPDATE batches.batch SET total = total + 1 WHERE id = {pick('id', 'batches.batch', 'status = $$completed$$ AND EXISTS (SELECT FROM batches.chunk c WHERE c.batch_id = id)', 'id DESC')} RETURNING id", r"counts \d items, and has \d"),
        (f"UPDATE batches.chunk SET states = repeat('.', size) WHERE batch_id = {pick('id', 'batches.batch', 'total = (SELECT sum(size) FROM batches.chunk c WHERE c.batch_id = id) AND status = $$completed$$')} RETURNING batch_id",
         r"is completed, and \d of its items wait")],
    "contacts.contact_groups": [
        (f"UPDATE contacts.contact SET groups = groups || '\"grp_gone\"' WHERE id = {pick('id', 'contacts.contact', 'deleted_at IS NULL')} RETURNING id", "names the group grp_gone, which is not there"),
        (f"UPDATE contacts.contact_group g SET children = '[]', members = '{{\"children\": [], \"primary\": []}}' FROM contacts.contact_group old WHERE old.id = g.id AND g.id = "
         f"{pick('id', 'contacts.contact_group', MEMBER)} RETURNING old.children ->> 0", "whose member it is not")],
    "contacts.contact_words": [
        ("INSERT INTO contacts.token SELECT organization_id, 'ctct_gone', token, 1 FROM contacts.token LIMIT 1 RETURNING contact_id", "and is not there"),
        ("WITH w AS (DELETE FROM contacts.word WHERE token = (SELECT min(token) FROM contacts.token) RETURNING organization_id, token)"
         " SELECT DISTINCT t.contact_id FROM contacts.token t JOIN w USING (organization_id, token)", "which is not in the book of words")],
    "contacts.group_members": [
        (f"UPDATE contacts.contact_group SET children = children || '\"ctct_gone\"', members = jsonb_set(members, '{{children}}', children || '\"ctct_gone\"') WHERE id = {pick('id', 'contacts.contact_group', MEMBER)}"
         " RETURNING id", "its member ctct_gone is no contact that is there"),
        (f"WITH c AS (UPDATE contacts.contact SET groups = '[]' WHERE id = {pick('children ->> 0', 'contacts.contact_group', MEMBER, skip=1)} RETURNING id)"
         " SELECT g.id FROM contacts.contact_group g JOIN c ON g.children ? c.id", "its member ctct_.* does not name it"),
        (f"UPDATE contacts.contact_group SET members = '{{\"children\": [], \"primary\": []}}' WHERE id = {pick('id', 'contacts.contact_group', MEMBER)} RETURNING id", "has other children than members"),
        (f"UPDATE contacts.contact_group SET members = jsonb_set(members, '{{primary}}', '[\"ctct_other\"]') WHERE id = {pick('id', 'contacts.contact_group', MEMBER, skip=1)} RETURNING id",
         "has a primary member that is no child")],
    "containers.container_history": [
        (f"UPDATE containers.container SET history_count = history_count + 1 WHERE id = {pick('id', 'containers.container')} RETURNING id", r"counts \d lines of history, and has \d up to number \d"),
        (f"DELETE FROM containers.tracking_update WHERE owner_id = {pick('id', 'containers.container', skip=1)} RETURNING owner_id", r"counts \d lines of history, and has 0 up to number 0")],
    "containers.container_shipments": [
        (f"UPDATE shipments.shipment SET container_id = 'cont_gone' WHERE id = {pick('id', 'shipments.shipment', 'deleted_at IS NULL')} RETURNING id", "is in cont_gone, which is not there"),
        ("WITH c AS (UPDATE containers.container SET deleted_at = now() WHERE id = (SELECT min(container_id) FROM shipments.shipment WHERE container_id <> 'cont_gone') RETURNING id)"
         " SELECT s.id FROM shipments.shipment s JOIN c ON c.id = s.container_id", "is in ctnr_.*, which is not there")],
    "documents.link_ends": [
        (f"UPDATE documents.link SET document_id = 'dcmt_gone' WHERE id = {pick('id', 'documents.link')} RETURNING id", "is of the document dcmt_gone, which is not there"),
        (f"WITH l AS (SELECT id, document_id FROM documents.link ORDER BY 1 LIMIT 1 OFFSET 1), d AS (UPDATE documents.document d SET deleted_at = now() FROM l WHERE d.id = l.document_id) SELECT id FROM l",
         "is of the document dcmt_.*, which is not there"),
        (f"UPDATE documents.link SET resource_id = 'loc_gone' WHERE id = {pick('id', 'documents.link', skip=2)} RETURNING id", "names the location loc_gone, which is not there")],
    "events.numbers": [
        ("UPDATE wharf.event_done d SET sequence = 1 FROM (SELECT organization_id, event_id FROM wharf.event_done WHERE sequence = 2 ORDER BY 1 LIMIT 1) x WHERE d.organization_id = x.organization_id"
         " AND d.event_id = x.event_id RETURNING NULL", "shares the number 1 with"),
        ("WITH k AS (UPDATE wharf.event_counter SET sequence = sequence - 1 WHERE organization_id = (SELECT max(organization_id) FROM wharf.event_counter) RETURNING organization_id, sequence)"
         " SELECT d.event_id FROM wharf.event_done d JOIN k ON k.organization_id = d.organization_id AND d.sequence = k.sequence + 1", r"has the number \d+, and the counter is at \d+")],
    "events.outbox": [
        ("INSERT INTO wharf.outbox (organization_id, created_at, event_id) VALUES ('org_x', now(), 'evt_gone') RETURNING event_id", "waits in the outbox, and there is no such event"),
        ("INSERT INTO wharf.outbox (organization_id, created_at, log_id) VALUES ('org_x', now(), 'log_gone') RETURNING log_id", "its line log_gone waits in the outbox, and is not in the change log")],
    "events.processed": [("DELETE FROM wharf.event_done WHERE event_id = (SELECT max(event_id) FROM wharf.event_done) RETURNING event_id", "is neither processed nor in the outbox")],
    "exports.export_files": [("WITH f AS (DELETE FROM wharf.file WHERE id = (SELECT csv_file FROM exports.export WHERE state = 'completed' ORDER BY id LIMIT 1) RETURNING id)"
                              " SELECT e.id FROM exports.export e JOIN f ON f.id = e.csv_file", "its file .* is not there")],
    "files.checksums": [(damage, "is damaged: its bytes have another hash")],
    "files.damaged": [("UPDATE wharf.file SET damage = 'lost', damage_told = 'lost', read_at = now() WHERE id = (SELECT min(id) FROM wharf.file WHERE state = 'stored') RETURNING id", r"its bytes are lost, as was seen at .* \([0-9a-f]{64}\)")],
    "files.objects": [(lose, r"its bytes are not in the store \([0-9a-f]{64}\)")],
    "inference.item_label_files": [
        ("WITH f AS (DELETE FROM wharf.file WHERE id = (SELECT image_file FROM inference.item_label WHERE deleted_at IS NULL ORDER BY id LIMIT 1) RETURNING id)"
         " SELECT t.id FROM inference.item_label t JOIN f ON f.id = t.image_file", "its image file_.* is not there"),
        (f"UPDATE inference.item_label SET deleted_at = now() WHERE id = {pick('id', 'inference.item_label', 'deleted_at IS NULL', skip=1)} RETURNING id", "it is deleted, and names its image file_")],
    "inference.item_label_says": [(f"UPDATE inference.item_label SET errors = '[\"no_fields\"]' WHERE id = {pick('id', 'inference.item_label', 'deleted_at IS NULL')} RETURNING id", r'is completed, with the errors \["no_fields"\]')],
    "inference.reading_contacts": [(f"UPDATE inference.shipping_label SET recipient_contact_id = 'ctct_gone' WHERE id = {pick('id', 'inference.shipping_label', 'deleted_at IS NULL')} RETURNING id",
                                    "names the contacts ctct_gone and null, and its parties others")],
    "inference.reading_files": [
        ("WITH f AS (DELETE FROM wharf.file WHERE id = (SELECT images_kept -> 0 ->> 'file' FROM inference.shipping_label WHERE deleted_at IS NULL ORDER BY id DESC LIMIT 1) RETURNING id)"
         " SELECT t.id FROM inference.shipping_label t JOIN f ON f.id = t.images_kept -> 0 ->> 'file'", "its image file_.* is not there"),
        (f"UPDATE inference.shipping_label SET deleted_at = now() WHERE id = {pick('id', 'inference.shipping_label', 'deleted_at IS NULL', order='id DESC', skip=1)} RETURNING id", "it is deleted, and names its image file_")],
    "inference.reading_trackers": [(f"UPDATE inference.shipping_label SET tracker_id = 'track_gone' WHERE id = {pick('id', 'inference.shipping_label', 'deleted_at IS NULL', skip=1)} RETURNING id",
                                    "has the tracker track_gone, and is error")],
    "integrations.requests_waiting": [
        ("UPDATE integrations.outgoing SET status = 'pending' WHERE id = (SELECT min(id) FROM integrations.outgoing WHERE status <> 'pending') RETURNING id", "is pending, and does not wait to be made"),
        ("INSERT INTO integrations.waiting (organization_id, id, created_at, integration_id, event_id, next_attempt_at) SELECT organization_id, id, created_at, integration_id, event_id, 'infinity'"
         " FROM integrations.outgoing WHERE status <> 'pending' ORDER BY id DESC LIMIT 1 RETURNING id", "waits to be made, and is over or not there")],
    "jobs.lines": [(JOB.format("'line'", "'blocked'", "NULL"), "is the first of the line none.such line, and is blocked")],
    "jobs.workers": [(JOB.format("''", "'delayed'", "'nobody'"), "is delayed, and the worker nobody has it"), (JOB.format("''", "'running'", "NULL"), "runs, and no worker has it")],
    "locations.default_layouts": [
        (f"UPDATE locations.layout SET is_default = false WHERE id = {pick('default_layout_id', 'locations.location', 'deleted_at IS NULL')} RETURNING location_id", "has no default layout"),
        ("UPDATE locations.layout SET is_default = true WHERE id = (SELECT min(id) FROM locations.layout WHERE path IS NULL AND NOT is_default AND deleted_at IS NULL AND location_id <> "
         f"{pick('id', 'locations.location', 'deleted_at IS NULL')}) RETURNING location_id", "has 2 default layouts"),
        (f"UPDATE locations.location SET default_layout_id = 'lay_other' WHERE id = {pick('id', 'locations.location', 'deleted_at IS NULL', 'id DESC')} RETURNING id", "names lay_other as its default layout, which is lay_")],
    "locations.layout_places": [
        (f"UPDATE locations.layout SET parent_id = 'lay_other' WHERE id = {pick('id', 'locations.layout', 'path IS NULL AND deleted_at IS NULL')} RETURNING id", "has a path and another parent_id"),
        (f"UPDATE locations.layout SET depth = 2 WHERE id = {pick('id', 'locations.layout', 'path IS NULL AND deleted_at IS NULL', 'id DESC')} RETURNING id", "is a root, and has the place of none"),
        (f"UPDATE locations.layout SET path = 'lay_gone', parent_id = 'lay_gone' WHERE id = {pick('id', 'locations.layout', 'depth = 2 AND path IS NOT NULL AND deleted_at IS NULL')} RETURNING id", "lies below lay_gone, which is not there"),
        (f"UPDATE locations.layout SET nested_name = 'x' WHERE id = {pick('id', 'locations.layout', 'depth = 3 AND deleted_at IS NULL')} RETURNING id", "has not the root, depth and name that follow from lay_")],
    "logs.chain": [
        ("UPDATE wharf.change_log SET message = 'Nothing happened' WHERE id = (SELECT min(log_id) FROM wharf.log_seal) RETURNING id", "is not as it was sealed"),
        ("DELETE FROM wharf.log_seal WHERE (organization_id, sequence) = (SELECT organization_id, sequence FROM wharf.log_chain ORDER BY organization_id DESC LIMIT 1) RETURNING NULL", "is not as it was sealed")],
    "secrets.keys": [
        (f"UPDATE webhooks.webhook SET secrets = 's1.deadbeef' || substr(secrets, 12) WHERE id = {pick('id', 'webhooks.webhook', 'secrets IS NOT NULL')} RETURNING id", "its secrets is sealed with the master key deadbeef, which this machine does not have"),
        (f"UPDATE webhooks.webhook w SET secrets = o.secrets FROM webhooks.webhook o WHERE o.id <> w.id AND substr(o.secrets, 4, 8) <> 'deadbeef' AND w.id = {pick('id', 'webhooks.webhook', 'secrets IS NOT NULL', 'id DESC')} RETURNING w.id",
         "its secrets does not open with the master key")],
    "identity.key_tokens": [
        ("DELETE FROM wharf.token WHERE kind = 'api_key' AND id = (SELECT min(id) FROM wharf.api_key) RETURNING id", "has no hash in wharf.token"),
        ("DELETE FROM wharf.api_key WHERE id = (SELECT max(id) FROM wharf.api_key) RETURNING id", "has a hash in wharf.token, and is no key")],
    "identity.reach": [
        ("INSERT INTO wharf.principal_location SELECT organization_id, principal_type, principal_id, 'loc_other' FROM wharf.principal_location LIMIT 1 RETURNING principal_id", "reaches loc_other, which its row does not say"),
        ("DELETE FROM wharf.principal_location WHERE (principal_id, location_id) = (SELECT principal_id, location_id FROM wharf.principal_location WHERE location_id <> 'loc_other' LIMIT 1) RETURNING principal_id",
         "does not reach loc_.*, which its row says")],
    "identity.twins": [("UPDATE wharf.organization SET live_organization_id = 'org_other' WHERE id = (SELECT min(id) FROM wharf.organization WHERE mode = 'test') RETURNING id", "its live organization org_other does not name it"),
                  ("UPDATE wharf.organization SET test_organization_id = 'org_test' WHERE id = (SELECT min(id) FROM wharf.organization WHERE mode = 'live' AND test_organization_id IS NULL) RETURNING id",
                   "its test organization org_test does not name it")],
    "shipments.shipment_children": [
        ("UPDATE shipments.shipment SET children_count = 7 WHERE id = (SELECT min(id) FROM shipments.shipment WHERE deleted_at IS NULL AND NOT is_parent) RETURNING id", "counts 7 children, and has 0"),
        ("UPDATE shipments.shipment SET is_parent = false WHERE id = (SELECT min(id) FROM shipments.shipment WHERE is_parent) RETURNING id", "counts 1 children, and has 1"),
        ("UPDATE shipments.shipment SET parent_id = 'ship_gone' WHERE id = (SELECT max(id) FROM shipments.shipment WHERE deleted_at IS NULL AND parent_id IS NULL) RETURNING id", "its parent ship_gone is not there")],
    "fulfillments.article_sums": [
        (f"UPDATE fulfillments.article SET is_open = false WHERE id = {pick('id', 'fulfillments.article', 'reserved > 0')} RETURNING id", "is closed, and its fulfillment created"),
        (f"UPDATE fulfillments.reservation SET picked = 1 WHERE article_id = {pick('id', 'fulfillments.article', 'reserved > 0', skip=1)} RETURNING article_id", "does not have the sums of its reservations")],
    "fulfillments.packed_parcels": [
        (f"INSERT INTO fulfillments.content SELECT organization_id, fulfillment_id, 'prcl_gone', id, NULL, 1 FROM fulfillments.article WHERE id = {pick('id', 'fulfillments.article', 'reserved > 0', skip=2)} RETURNING article_id",
         "has 0.0000 packed, and its parcels have 1.0000")],
    "fulfillments.reserved_stock": [
        (f"UPDATE items.level SET reserved = reserved + 1 WHERE id = {pick('id', 'items.level', 'reserved > 0')} RETURNING id", r"has 4.0000 reserved of item_.*, and fulfillments are promised 3.0000")],
    "items.audit_stock": [
        (f"UPDATE items.audit_task SET counted = counted + 1 WHERE id = {pick('k.id', 'items.audit_task k JOIN items.audit a ON a.id = k.audit_id', 'a.status = $$approved$$')} RETURNING audit_id",
         r"says 1.0000 of item_\w+, and its ledger 0")],
    "items.audit_tasks": [
        (f"UPDATE items.audit SET counted_count = 7 WHERE id = {pick('id', 'items.audit', 'status = $$created$$')} RETURNING id", r"counts \d+ tasks, 7 of them counted, and has \d+ and 0"),
        (f"UPDATE items.audit_task SET total = NULL WHERE id = {pick('k.id', 'items.audit_task k JOIN items.audit a ON a.id = k.audit_id', 'a.status = $$approved$$', 'a.id DESC, k.id')} RETURNING audit_id",
         "is approved, and 1 of its totals are not kept"),
        (f"UPDATE items.audit SET finished_at = now() WHERE id = {pick('id', 'items.audit', 'status = $$created$$', skip=1)} RETURNING id", "is created, and finished")],
    "items.bom_default": [
        (f"UPDATE items.bom SET is_default = false WHERE id = {pick('id', 'items.bom', 'is_default')} RETURNING item_id", r"has \d+ active bills, and 0 of them are the default")],
    "items.bom_graph": [
        (f"DELETE FROM items.bom_edge WHERE (bom_id, component_id) = {pick('bom_id, component_id', 'items.bom_edge')} RETURNING bom_id", "has the component .*, and the graph has not"),
        (f"UPDATE items.bom_edge SET component_id = 'item_gone' WHERE (bom_id, component_id) = {pick('bom_id, component_id', 'items.bom_edge', skip=1)} RETURNING bom_id", "is in the graph with item_gone")],
    "items.bom_versions": [
        (f"UPDATE items.bom SET bom_version = bom_version + 1 WHERE id = {pick('id', 'items.bom')} RETURNING id", r"has version \d+, and \d+ versions"),
        (f"DELETE FROM items.bom_component WHERE (bom_id, bom_version) = {pick('bom_id, bom_version', 'items.bom_version', skip=1)} RETURNING bom_id", "of which 1 have no components")],
    "items.order_reversals": [
        (f"UPDATE items.assembly_order SET unbuilt_qty = quantity WHERE id = {pick('id', 'items.assembly_order', 'type = $$build$$')} RETURNING id", r"is taken apart to [\d.]+ \(.*\), and its unbuilds say 1"),
        (f"UPDATE items.assembly_order SET reversal = 'none' WHERE id = {pick('id', 'items.assembly_order', 'type = $$build$$ AND reversal = $$partial$$')} RETURNING id", "none")],
    "items.order_stock": [
        (f"UPDATE items.assembly_order_line SET required = required + 1 WHERE order_id = {pick('id', 'items.assembly_order')} RETURNING order_id", "says .*, and the ledger has"),
        (f"UPDATE items.assembly_order SET quantity = quantity + 1 WHERE id = {pick('id', 'items.assembly_order', skip=1)} RETURNING id", "says .*, and the ledger has")],
    "items.stock_levels": [
        (f"UPDATE items.level SET available = available + 1 WHERE id = {pick('id', 'items.level')} RETURNING id", r"has [\d.]+ available, and its ledger says [\d.]+"),
        (f"UPDATE items.level SET moves = moves + 2 WHERE id = {pick('id', 'items.level', skip=1)} RETURNING id", r"counts \d+ moves, and has \d+")],
    "items.stock_places": [(f"UPDATE items.level SET item_id = 'item_gone' WHERE id = {pick('id', 'items.level', skip=1)} RETURNING id", "is of the item item_gone, which is not there"),
        (f"UPDATE items.level SET lot_id = 'lot_other' WHERE id = {pick('id', 'items.level')} RETURNING id", "is of the lot lot_other, which is none of its item")],
    "items.stock_transfers": [
        (f"UPDATE items.stock_movement SET reason = 'transfer' WHERE id = {pick('id', 'items.stock_movement')} RETURNING group_id", r"adds up to -?[\d.]+")],
    "manifests.receipt_sums": [
        (f"UPDATE manifests.article SET received = received + 1, booked = booked + 1, expected = greatest(0, packed - booked - 1) WHERE id = {pick('id', 'manifests.article', 'NOT unexpected')} RETURNING id", r"has [\d.]+ booked, and its receipts say [\d.]+"),
        (f"UPDATE manifests.article SET expected = expected + 1 WHERE id = {pick('id', 'manifests.article', 'NOT unexpected', skip=1)} RETURNING id", r"expects [\d.]+")],
    "manifests.receipt_stock": [
        (f"UPDATE manifests.receipt SET group_id = 'mvg_gone' WHERE id = {pick('id', 'manifests.receipt')} RETURNING id", "says [\\d.]+ of the item item_.*, and its group in the ledger 0")],
    "shipments.shipment_history": [
        ("DELETE FROM shipments.tracking_update WHERE shipment_id = (SELECT min(id) FROM shipments.shipment WHERE status = 'created') RETURNING shipment_id", "is created, and has no line of history"),
        ("INSERT INTO shipments.tracking_update (organization_id, id, shipment_id, status, occurred_at, source, hash, position, created_at) SELECT organization_id, 'again', shipment_id, status, occurred_at, source,"
         " 'another', position, created_at FROM shipments.tracking_update WHERE shipment_id = (SELECT max(id) FROM shipments.shipment WHERE history_count > 0) LIMIT 1 RETURNING shipment_id",
         "has two lines of history with one number"),
        ("UPDATE shipments.shipment SET history_count = 0 WHERE id = (SELECT min(shipment_id) FROM shipments.tracking_update WHERE id <> 'again') RETURNING id", "counts to 0, and has the line 1")],
    "stations.print_job_states": [
        ("UPDATE stations.print_job SET status = 'failed' WHERE id = (SELECT min(id) FROM stations.print_job WHERE status = 'queued') RETURNING id", "is failed, and its history ends with queued"),
        ("DELETE FROM stations.print_job_history WHERE job_id = (SELECT max(id) FROM stations.print_job) RETURNING job_id", "is queued, and its history ends with nothing")],
    "stations.station_printers": [("WITH s AS (UPDATE stations.print_station SET deleted_at = now() WHERE id = (SELECT min(station_id) FROM stations.printer WHERE deleted_at IS NULL) RETURNING id)"
                                   " SELECT p.id FROM stations.printer p JOIN s ON s.id = p.station_id", "stands at .*, which is not there")],
    "trackers.legs_trackers": [("WITH t AS (UPDATE trackers.tracker SET deleted_at = now() WHERE id = (SELECT min(tracker_id) FROM shipments.shipment WHERE deleted_at IS NULL) RETURNING id)"
                                " SELECT s.id FROM shipments.shipment s JOIN t ON t.id = s.tracker_id", "is a leg of track_.*, which is not there")],
    "trackers.tracker_legs": [
        (f"UPDATE trackers.tracker SET legs_count = 9 WHERE id = {pick('id', 'trackers.tracker', 'deleted_at IS NULL')} RETURNING id", r"shows 9 legs, and has \d"),
        (f"WITH s AS (UPDATE shipments.shipment SET status = 'lost' WHERE tracker_id = {pick('id', 'trackers.tracker', 'deleted_at IS NULL', skip=1)} RETURNING tracker_id) SELECT DISTINCT tracker_id FROM s",
         "shows its legs as they are no more"),
        (f"UPDATE trackers.tracker SET current_shipment_id = 'ship_other' WHERE id = {pick('id', 'trackers.tracker', 'deleted_at IS NULL', skip=2)} RETURNING id", "shows ship_other as its current leg, which is none of its legs")],
    "webhooks.in_flight": [("UPDATE webhooks.runtime SET in_flight = 7 WHERE webhook_id = (SELECT min(webhook_id) FROM webhooks.runtime) RETURNING webhook_id", r"counts 7 requests in flight, and its queues have \d")],
    "webhooks.queue_heads": [
        ("UPDATE webhooks.delivery SET status = 'pending' WHERE id = (SELECT min(id) FROM webhooks.delivery d WHERE status = 'succeeded' AND NOT EXISTS (SELECT FROM webhooks.queue q"
         " WHERE q.webhook_id = d.webhook_id AND q.resource_id = d.resource_id)) RETURNING webhook_id", "the delivery .* waits in no queue"),
        ("INSERT INTO webhooks.queue (organization_id, webhook_id, lane, resource_type, resource_id, head_id, head_at, head_event, head_run, head_sequence, next_attempt_at)"
         " SELECT organization_id, webhook_id, lane, resource_type, 'other', id, created_at, event_id, run_id, sequence, 'infinity' FROM webhooks.delivery WHERE status = 'succeeded'"
         " ORDER BY id DESC LIMIT 1 RETURNING webhook_id", "the head of its queue for other, .*, is no open delivery")],
    "templates.one_default": [
        (f"UPDATE templates.template SET status = 'custom' WHERE id = {pick('id', 'templates.template', 'builtin')} RETURNING id", "is the built-in one of .*, of which none is the default for all locations")],
    "templates.template_versions": [
        (f"DELETE FROM templates.template_version WHERE template_id = {pick('id', 'templates.template', 'NOT builtin AND deleted_at IS NULL')} RETURNING template_id", "has the version [0-9]+, which is not kept as it is"),
        (f"UPDATE templates.template SET template_data = '{{}}' WHERE id = {pick('id', 'templates.template', 'NOT builtin AND deleted_at IS NULL', skip=1)} RETURNING id", "has the version [0-9]+, which is not kept as it is")],
    "workflows.workflow_lines": [
        ("UPDATE workflows.run SET order_key = 'k', status = 'queued', due_at = 'infinity', line = 0 WHERE id = (SELECT min(id) FROM workflows.run) RETURNING id", "is the first with the key k, and is never due"),
        ("WITH first AS (UPDATE workflows.run SET order_key = 'k', status = 'queued', due_at = 'infinity', line = 0 WHERE id = (SELECT min(id) FROM workflows.run) RETURNING organization_id, workflow_id)"
         " UPDATE workflows.run r SET order_key = 'k', status = 'waiting', due_at = now(), line = 1, workflow_id = f.workflow_id, organization_id = f.organization_id FROM first f"
         " WHERE r.id = (SELECT max(id) FROM workflows.run) RETURNING r.id", "is waiting behind another with the key k")],
    "workflows.workflow_schedules": [
        ("INSERT INTO workflows.schedule (organization_id, workflow_id, place, next_at) SELECT organization_id, workflow_id, 9, 'infinity' FROM workflows.schedule LIMIT 1 RETURNING workflow_id",
         "is started by its trigger 9, which is no schedule, or the workflow is not enabled"),
        ("DELETE FROM workflows.schedule WHERE workflow_id = (SELECT min(workflow_id) FROM workflows.schedule) AND place = 0 RETURNING workflow_id", "is not started by its schedule, the trigger 0")],
    "workflows.workflow_versions": [
        ("DELETE FROM workflows.version WHERE workflow_id = (SELECT min(workflow_id) FROM workflows.version) RETURNING workflow_id", "publishes version 1, and has none"),
        ("UPDATE workflows.workflow SET published_version = NULL WHERE id = (SELECT max(workflow_id) FROM workflows.version) RETURNING id", "publishes version none, and its last one is 1")],
}


def busy(walls):
    """What the generator of rows leaves out: what belongs together."""
    for org, place in (("one", "here"), ("two", "away")):
        c, at = walls.admin[org], walls.places[place]
        contacts = [c.post("/v1/contacts", {"name": f"Member {n}"}, expect=201).data["id"] for n in range(2)]
        for n in range(2):
            c.post("/v1/groups", {"name": f"Crew {n}", "resource": "contact", "group_contacts": {"children": contacts[n:n + 1], "primary": contacts[n:n + 1]}}, expect=201)
        shelf = c.post(f"/v1/locations/{at}/layouts", {"name": "Hall"}, expect=201).data["id"]
        for name in ("Row", "Bay"):
            shelf = c.post(f"/v1/locations/{at}/layouts", {"name": name, "path": shelf}, expect=201).data["id"]
        tracker = c.post("/v1/trackers", {"tracking_number": f"CHAIN{org}1"}, expect=201).data
        ids = [c.post("/v1/shipments", {"tracking_number": f"PART{org}{n}"}, expect=201).data["id"] for n in range(4)]
        c.post(f"/v1/trackers/{tracker['id']}", {"chaining": {"add": ids[:1]}}, expect=200)
        c.post(f"/v1/shipments/{ids[2]}", {"parent_id": ids[3]}, expect=200)
        c.post("/v1/containers", {"tracking_number": f"BOX{org}", "add": ids[1:2]}, expect=201)
        note = c.post("/v1/documents", {"name": "Note", "visibility": "public", "content": "data:text/plain;base64,aGVsbG8="}, expect=201).data["id"]
        assert c.http.get(f"{c.server.base}/v1/documents/{note}/preview", headers={"SVC-API-KEY": c.key}, timeout=WAIT).status_code == 200
        walls.orgs[org].user(locations=[at])
        walls.orgs[org].key(test=True)
        flow = c.post("/v1/workflows", {"name": "Yearly", "source": "return {on_schedule = function() end, on_run = function() return 1 end}",
                                        "triggers": [{"type": "schedule", "cron": "@yearly"}, {"type": "manual"}]}, expect=201).data["id"]
        c.post(f"/v1/workflows/{flow}/publish", {}, expect=200)
        c.post(f"/v1/workflows/{flow}/run", {"wait": False}, expect=202)
    walls.settle()


def quiet(server):
    """Nothing is left to be done, and no transaction is open."""
    todo = ("SELECT 1 FROM wharf.outbox UNION ALL SELECT 1 FROM wharf.job WHERE state IN ('ready', 'running') AND queue !~ '\\.(deliver|watch|serve)' AND run_at <= now() AND worker IS NULL"
            " UNION ALL SELECT 1 FROM exports.export WHERE state IN ('queued', 'processing') UNION ALL SELECT 1 FROM workflows.run WHERE status IN ('queued', 'running')"
            " UNION ALL SELECT 1 FROM integrations.waiting UNION ALL SELECT 1 FROM webhooks.queue WHERE in_flight UNION ALL SELECT 1 FROM batches.batch WHERE finished_at IS NULL"
            " UNION ALL SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND state LIKE '%%transaction%%'")
    return not server.sql(todo)


def processes(server):
    """The server's own, not those of its database."""
    known = {server.process.pid}
    tree = [line.split(None, 2) for line in subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]]
    for pid, parent, args in sorted(tree, key=lambda t: int(t[0])):
        if int(parent) in known and "postgres" not in args:
            known.add(int(pid))
    return sorted(known)


class Frozen:
    """A world whose server stands still."""

    def __init__(self, walls):
        self.walls, self.server = walls, walls.server
        self.pids = []

    def freeze(self):
        until(self.all_stand_still, "the server's processes do not stop")

    def all_stand_still(self):
        """Stops every process. One that was ending may be gone then, and one may have been started meanwhile: it is looked again."""
        self.pids = processes(self.server)
        self.signal(signal.SIGSTOP)
        return processes(self.server) == self.pids and all(process_state(pid)[0] in "TZ" for pid in self.pids)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def signal(self, what):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, what)

    def faults(self, check):
        return {(f["id"], f["wrong"]) for f in self.server.verify("--check", check, "--show", "10000")[check]["shown"]}


@pytest.fixture(scope="module")
def world():
    s = Server("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    web = Receivers()
    frozen = None
    try:
        walls = Walls(s, web)
        busy(walls)
        until(lambda: quiet(s), "the world does not come to rest")
        frozen = Frozen(walls)
        frozen.freeze()
        yield frozen
    finally:
        if frozen:
            frozen.go_on()
        s.end()


def test_a_busy_world_has_no_faults(world):
    """First: what the tests below break stays broken."""
    told = world.server.verify()
    wrong = {name: check for name, check in told.items() if check["faults"] or check["error"]}
    assert not wrong, wrong
    assert not [name for name, check in told.items() if not check["looked_at"] and name not in PASSING], "nothing was looked at"
    assert set(told) == set(BREAKAGES), "each check has a breakage here that shows it at work, and each breakage a check"


@pytest.mark.parametrize("check, n", [(check, n) for check, all in BREAKAGES.items() for n in range(len(all))])
def test_what_is_broken_is_found(world, check, n):
    how, said = BREAKAGES[check][n]
    before = world.faults(check)
    ids = how(world) if callable(how) else [id for id, in world.server.sql(how)]
    found = world.faults(check) - before
    assert ids and found, "nothing was broken, or it was not found"
    assert set(filter(None, ids)) <= {id for id, _ in found}, (ids, found)
    assert [wrong for id, wrong in found if (id in ids or None in ids) and re.search(said, wrong)], found


def test_every_file_of_checks_is_declared(world):
    names = [p.stem for p in ROOT.glob("*/*/checks/*.sql")]
    assert sorted(names) == sorted(set(names)) and set(names) <= {name.split(".")[1] for name in BREAKAGES} and len(names) > 25
