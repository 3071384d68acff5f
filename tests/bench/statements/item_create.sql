-- Creates an item, with the line of the log, the event, their place in the queue and the line of
-- the request.
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
item AS (
    INSERT INTO items.item (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, name,
        item_type, base_uom, uom_category, transactional_units, is_asset, lot_tracking, status,
        sku, attributes, images, metadata)
    SELECT
        :org::text, 'item_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'New ' || x.n,
        'inventory', 'each', 'count', '[]'::jsonb, false, 'none', 'active', 'NEW-' || x.n,
        '[]'::jsonb, '[]'::jsonb, '{}'::jsonb
    FROM x
),
item_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, locations, created_at)
    SELECT
        :org::text, 'log_' || x.n, 'item', 'item_' || x.n, 'created', '[]'::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, '[]'::jsonb, x.at
    FROM x
),
item_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", resource_type, resource_id, actor_type, actor_id,
        actor_name, request_id, data, locations, created_at, expires_at)
    SELECT
        :org::text, 'evt_' || x.n, 'item.created', x.at, 'item', 'item_' || x.n, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, :data_item::json, '[]'::jsonb, x.at,
        x.at + interval '30 days'
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, row_id,
        areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/items', '/v1/items', 201, 1.5,
        :key::text, '127.0.0.1', false, length(:body::text), length(:answer::text), :body::text,
        :answer::text, 'item_' || x.n, '["items"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
