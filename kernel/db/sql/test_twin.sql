-- Returns the test twin of a live organization, made as `twin` with the first test key; its
-- settings begin as a copy. NULL: there is no such live organization.
CREATE OR REPLACE FUNCTION wharf.test_twin(live text, twin text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    o wharf.organization;
BEGIN
    SELECT * INTO o FROM wharf.organization
    WHERE organization_id = live AND id = live AND mode = 'live' AND active AND deleted_at IS NULL
        FOR UPDATE;
    IF NOT FOUND OR o.test_organization_id IS NOT NULL THEN
        RETURN o.test_organization_id;
    END IF;
    UPDATE wharf.organization SET test_organization_id = twin
        WHERE organization_id = live AND id = live;
    INSERT INTO wharf.organization (organization_id, id, name, mode, live_organization_id, profile,
        logo_url, social_media, currency,
        requirements, settings, metadata, created_at, updated_at)
    VALUES (twin, twin, o.name, 'test', live, o.profile, o.logo_url, o.social_media, o.currency,
        o.requirements, o.settings, o.metadata,
        wharf.now(), wharf.now());
    RETURN twin;
END
$$;
