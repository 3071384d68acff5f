-- Makes the built-in roles of an organization, as every list of roles shows them.
-- kernel/identity/roles.c says what they may; the areas here are the catalogue of spec 01
-- section 6.3.
CREATE OR REPLACE FUNCTION wharf.built_in_roles(organization text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO wharf.role (organization_id, id, name, scopes, location_restricted, created_at,
        updated_at)
    SELECT organization, r.id, r.id, r.scopes::jsonb, r.restricted, wharf.now(), wharf.now()
    FROM (VALUES
        ('owner', false, '{"*":2}'),
        ('developer', false, '{"*":2}'),
        ('admin', true,
            '{"shipments":2,"parcels":2,"trackers":2,"contacts":2,"groups":2,"locations":2,'
            '"containers":2,"items":2,"assets":2,"fulfillments":2,"manifests":2,"documents":2,'
            '"audits":2,"inferences":2,"print_stations":2,"print_jobs":2,"templates":2,'
            '"reason_codes":2,"batches":2,"exports":2,"workflow":2,"webhooks":2,"events":2,'
            '"notifications":2,"integrations":2,"logs":1,"support":2,"organizations":2,"users":2,'
            '"devices":2,"roles":1}'),
        ('user', true,
            '{"shipments":2,"parcels":2,"trackers":2,"contacts":2,"groups":2,"locations":1,'
            '"containers":2,"items":2,"assets":2,"fulfillments":2,"manifests":2,"documents":2,'
            '"audits":2,"inferences":2,"print_stations":2,"print_jobs":2,"templates":1,'
            '"reason_codes":1,"batches":2,"exports":2,"workflow":1,"events":1,"notifications":1,'
            '"logs":1,"support":2,"organizations":1,"users":1,"devices":1}')
    ) AS r(id, restricted, scopes)
    ON CONFLICT DO NOTHING
$$;
