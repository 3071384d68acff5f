-- Creates a shipment with its tracker and the first line of its history, and of each change the
-- line of the log, the event and their place in the queue; the request has its line, too.
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        lpad(:b::text, 9, '0') || lpad(:a::text, 9, '0') || lpad(:client_id::text, 4, '0') AS m,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
tracking_update AS (
    INSERT INTO shipments.tracking_update (
        organization_id, id, shipment_id, status, occurred_at, comment_only, source, event, hash,
        position, created_at, created_by)
    SELECT
        :org::text, 'tup_' || x.n, 'ship_' || x.n, 'created', x.at, false, 'api',
        'shipment.created',
        encode(sha256(convert_to('ship_' || x.n || 'created', 'UTF8')), 'hex'), 1, x.at,
        :key::text
    FROM x
),
shipment AS (
    INSERT INTO shipments.shipment (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, status,
        filters, type, tracking_number, provider_id, provider, parcels, rates, currency, paid,
        location_id, is_parent, children_count, tags, metadata, search_text, history_count, leg,
        tracker_id)
    SELECT
        :org::text, 'ship_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'created',
        '["outstanding"]'::jsonb, 'inbound', 'NEW' || x.n, 'unknown',
        '{"id": "unknown", "name": null, "logo_url": null, "marketplace": false, "support_url":
        null, "support_email": null, "support_phone": null}'::jsonb, '[]'::jsonb, '[]'::jsonb,
        'usd', false, :location::text, false, 0, '[]'::jsonb, '{}'::jsonb, 'NEW' || x.n, 1, 0,
        'track_' || x.n
    FROM x
),
tracker AS (
    INSERT INTO trackers.tracker (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, type,
        tracking_number, provider_id, provider, current_shipment_id, status, filters,
        chained_status, auto_close_shipments_option, has_parent_shipment, tags,
        provider_candidates, metadata, has_plain_shipment, legs_count, history_count, legs_hash,
        comments_count, merged_ids, search_text)
    SELECT
        :org::text, 'track_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'inbound',
        'NEW' || x.n, 'unknown',
        '{"id": "unknown", "name": null, "logo_url": null, "marketplace": false, "support_url":
        null, "support_email": null, "support_phone": null}'::jsonb, 'ship_' || x.n, 'created',
        '["outstanding"]'::jsonb, 'package_at_waypoint', 'on_progress', false, '[]'::jsonb,
        '[]'::jsonb, '{}'::jsonb, true, 1, 1,
        'ship_' || x.n || '|created|NEW' || x.n || '|unknown|f', 0, '[]'::jsonb, 'NEW' || x.n
    FROM x
),
tracker_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, created_at, locations)
    SELECT
        :org::text, 'log_' || x.m, 'tracker', 'track_' || x.n, 'created', '[]'::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.m, x.at, '[]'::jsonb
    FROM x
),
tracker_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", resource_type, resource_id, actor_type, actor_id,
        actor_name, request_id, data, created_at, expires_at, locations)
    SELECT
        :org::text, 'evt_' || x.m, 'tracker.created', x.at, 'tracker', 'track_' || x.n, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, :data_tracker::json, x.at,
        x.at + interval '30 days', '[]'::jsonb
    FROM x
),
shipment_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, location_id, created_at)
    SELECT
        :org::text, 'log_' || x.n, 'shipment', 'ship_' || x.n, 'created', '[]'::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, :location::text, x.at
    FROM x
),
shipment_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", location_id, resource_type, resource_id,
        actor_type, actor_id, actor_name, request_id, data, created_at, expires_at)
    SELECT
        :org::text, 'evt_' || x.n, 'shipment.created', x.at, :location::text, 'shipment',
        'ship_' || x.n, 'api_key', :key::text, :key_name::text, 'req_' || x.n,
        :data_shipment::json, x.at, x.at + interval '30 days'
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/shipments', '/v1/shipments', 201, 1.5,
        :key::text, '127.0.0.1', false, length(:body::text), length(:answer::text), :body::text,
        :answer::text, '["shipments"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.m, 'evt_' || x.m FROM x
UNION ALL SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
