-- Creates a contact: its row, the words of its name, and of each change the line of the log, the
-- event and their place in the queue; the request has its line, too.
\set a random(1, 999999999)
\set b random(1, 999999999)
WITH x AS MATERIALIZED (
    SELECT lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0') AS n,
        date_trunc('milliseconds', clock_timestamp()) AS at
),
contact AS (
    INSERT INTO contacts.contact (
        organization_id, id, created_at, updated_at, created_by, updated_by, version, name, email,
        phone, address, alternate_names, alternate_emails, alternate_phones, alternate_addresses,
        is_primary, groups, locations, checksum, emails, address_hashes, search_text, metadata)
    SELECT
        :org::text, 'ctct_' || x.n, x.at, x.at, :key::text, :key::text, 1, 'Ann Lee',
        'n' || x.n || '@example.com', '+12015550100', :address::jsonb, '{}'::jsonb, '{}'::jsonb,
        '{}'::jsonb, '{}'::jsonb, false, '[]'::jsonb, '[]'::jsonb,
        '42f92c9a8c23c27153e332cab627a10a3fc70737dc40b4affa35bfbc7ed4fe60',
        jsonb_build_array('n' || x.n || '@example.com'), jsonb_build_array(:address_hash::text),
        :search::text || x.n, '{}'::jsonb
    FROM x
),
token AS (
    INSERT INTO contacts.token (organization_id, contact_id, token, weight)
    SELECT :org::text, 'ctct_' || x.n, w.token, w.weight
    FROM x CROSS JOIN (VALUES ('ann', 1.0::real), ('lee', 1.2::real)) w(token, weight)
),
contact_log AS (
    INSERT INTO wharf.change_log (
        organization_id, id, resource, resource_id, action, changes, actor_type, actor_id,
        actor_name, request_id, event_id, created_at, locations)
    SELECT
        :org::text, 'log_' || x.n, 'contact', 'ctct_' || x.n, 'created', '[]'::jsonb, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, 'evt_' || x.n, x.at, '[]'::jsonb
    FROM x
),
contact_event AS (
    INSERT INTO wharf.event (
        organization_id, id, type, "timestamp", resource_type, resource_id, actor_type, actor_id,
        actor_name, request_id, data, created_at, expires_at, locations)
    SELECT
        :org::text, 'evt_' || x.n, 'contact.created', x.at, 'contact', 'ctct_' || x.n, 'api_key',
        :key::text, :key_name::text, 'req_' || x.n, :data_contact::json, x.at,
        x.at + interval '30 days', '[]'::jsonb
    FROM x
),
request AS (
    INSERT INTO wharf.request_log (
        organization_id, id, created_at, method, route, path, status, duration_ms, api_key_id, ip,
        idempotent_replayed, request_bytes, response_bytes, request_body, response_body, areas)
    SELECT
        :org::text, 'req_' || x.n, x.at, 'POST', '/v1/contacts', '/v1/contacts', 201, 1.5,
        :key::text, '127.0.0.1', false, length(:body::text), length(:answer::text), :body::text,
        :answer::text, '["contacts"]'::jsonb
    FROM x
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id, event_id)
SELECT :org::text, x.at, 'log_' || x.n, 'evt_' || x.n FROM x;
