-- Reads a key k, its user u or device d, its role r and locations. Keys of both modes, users and
-- devices stand with the live organization o; a test key works on the data of its twin t.
SELECT COALESCE(t.id, o.id), k.id, k.name, k.last4, k.mode, k.scopes, k.allow_all_locations,
    (
        SELECT json_agg(l.location_id ORDER BY l.location_id)
        FROM wharf.principal_location l
        WHERE l.organization_id = k.organization_id
            AND l.principal_type = 'api_key'
            AND l.principal_id = k.id
    ),
    k.expires_at, (k.revoked_at IS NOT NULL OR k.deleted_at IS NOT NULL) AS revoked,
    o.active
        AND o.deleted_at IS NULL
        AND (k.mode = 'live' OR (t.active AND t.deleted_at IS NULL) IS TRUE) AS active,
    COALESCE(t.settings, o.settings) #>> '{events,expire_after}' AS expire_after,
    u.id, u.name, u.role, u.status = 'active' AND u.deleted_at IS NULL AS user_active,
    u.allow_all_locations,
    (
        SELECT json_agg(l.location_id ORDER BY l.location_id)
        FROM wharf.principal_location l
        WHERE l.organization_id = k.organization_id
            AND l.principal_type = 'user'
            AND l.principal_id = u.id
    ),
    r.scopes, r.location_restricted, d.id, d.name,
    d.status = 'active' AND d.deleted_at IS NULL AS device_active, d.allow_all_locations,
    (
        SELECT json_agg(l.location_id ORDER BY l.location_id)
        FROM wharf.principal_location l
        WHERE l.organization_id = k.organization_id
            AND l.principal_type = 'device'
            AND l.principal_id = d.id
    ),
    d.scopes, k.user_id IS NOT NULL AS has_user, k.device_id IS NOT NULL AS has_device,
    k.ip_allowlist, o.id, COALESCE(t.settings, o.settings) #>> '{api,datetime_format}',
    wharf.log_days(o.settings, 'retain_days', 365),
    wharf.log_days(o.settings, 'request_retain_days', 14),
    (
        SELECT string_agg(h.what || ' ' || h.xmin, ' ' ORDER BY h.owner, h.what)
        FROM wharf.hook h
        WHERE h.organization_id = COALESCE(t.id, o.id)
    ),
    COALESCE(t.settings, o.settings), COALESCE(t.profile, o.profile), k.limits,
    COALESCE(NULLIF(t.limits, '{}'), o.limits)
