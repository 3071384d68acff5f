-- wharf: phase=expand
-- Users, devices and roles as spec 01 section 6 has them.

-- Push tokens are sealed from now on; what stood here in the clear is sent again by the device when it next starts.
UPDATE org.device SET device_token = NULL WHERE device_token IS NOT NULL;

-- The built-in roles, as every list of roles shows them. What they may is kernel/identity/roles.c's to say; the areas here are the
-- catalogue of section 6.3.
CREATE FUNCTION org.built_in_roles(organization text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO org.role (organization_id, id, name, scopes, location_restricted, created_at, updated_at)
    SELECT organization, r.id, r.id, r.scopes::jsonb, r.restricted, wharf.now(), wharf.now()
    FROM (VALUES
        ('owner', false, '{"*":2}'),
        ('developer', false, '{"*":2}'),
        ('admin', true, '{"shipments":2,"parcels":2,"trackers":2,"contacts":2,"groups":2,"locations":2,"containers":2,"items":2,"assets":2,"fulfillments":2,"manifests":2,"documents":2,"audits":2,"inferences":2,"print_stations":2,"print_jobs":2,"templates":2,"reason_codes":2,"batches":2,"exports":2,"workflow":2,"webhooks":2,"events":2,"notifications":2,"integrations":2,"logs":1,"support":2,"organizations":2,"users":2,"devices":2,"roles":1}'),
        ('user', true, '{"shipments":2,"parcels":2,"trackers":2,"contacts":2,"groups":2,"locations":1,"containers":2,"items":2,"assets":2,"fulfillments":2,"manifests":2,"documents":2,"audits":2,"inferences":2,"print_stations":2,"print_jobs":2,"templates":1,"reason_codes":1,"batches":2,"exports":2,"workflow":1,"events":1,"notifications":1,"logs":1,"support":2,"organizations":1,"users":1,"devices":1}')
    ) AS r(id, restricted, scopes)
    ON CONFLICT DO NOTHING
$$;
CREATE FUNCTION org.organization_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM org.built_in_roles(NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER organization_made AFTER INSERT ON org.organization FOR EACH ROW WHEN (NEW.mode = 'live')
    EXECUTE FUNCTION org.organization_made();
SELECT org.built_in_roles(id) FROM org.organization WHERE mode = 'live';

-- Keys that expired or were revoked 30 days ago; from then on they are unknown. Returns how many of at most `most`.
CREATE FUNCTION org.purge_keys(most integer) RETURNS integer LANGUAGE sql AS $$
    WITH over AS (
        DELETE FROM org.api_key WHERE (organization_id, id) IN (
            SELECT organization_id, id FROM org.api_key
            WHERE LEAST(expires_at, revoked_at) < wharf.now() - interval '30 days' LIMIT most FOR UPDATE SKIP LOCKED)
        RETURNING organization_id, id),
    tokens AS (DELETE FROM wharf.token AS t USING over WHERE t.kind = 'api_key' AND t.organization_id = over.organization_id AND t.id = over.id),
    places AS (DELETE FROM org.principal_location AS l USING over
        WHERE l.organization_id = over.organization_id AND l.principal_type = 'api_key' AND l.principal_id = over.id)
    SELECT count(*)::integer FROM over
$$;
CREATE INDEX api_key_end ON org.api_key ((LEAST(expires_at, revoked_at))) WHERE LEAST(expires_at, revoked_at) IS NOT NULL;

-- Every row of one organization that was deleted 30 days ago, and of its test twin, in every table of every module that has rows by
-- organization. False: there is none.
CREATE FUNCTION org.purge_organization() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    gone text[];
    target regclass;
    waiting regclass[];
    left_over regclass[];
BEGIN
    SELECT array_remove(ARRAY[id, test_organization_id], NULL) INTO gone FROM org.organization
    WHERE mode = 'live' AND deleted_at < wharf.now() - interval '30 days' ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT array_agg(c.oid::regclass ORDER BY c.oid DESC) INTO waiting FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND EXISTS
        (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'organization');
    -- Tables that others refer to wait until those are empty.
    WHILE waiting IS NOT NULL LOOP
        left_over := NULL;
        FOREACH target IN ARRAY waiting LOOP
            BEGIN
                EXECUTE format('DELETE FROM %s WHERE organization_id = ANY ($1)', target) USING gone;
            EXCEPTION WHEN foreign_key_violation THEN
                left_over := left_over || target;
            END;
        END LOOP;
        IF left_over = waiting THEN
            RAISE EXCEPTION 'rows of organization % refer to each other in %', gone[1], left_over;
        END IF;
        waiting := left_over;
    END LOOP;
    RETURN true;
END
$$;
