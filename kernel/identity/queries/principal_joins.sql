-- Joins what a key k is of; principal_columns.sql says what.
JOIN wharf.organization o ON o.organization_id = k.organization_id AND o.id = k.organization_id
LEFT JOIN wharf.organization t
    ON k.mode = 'test'
        AND t.organization_id = o.test_organization_id
        AND t.id = o.test_organization_id
LEFT JOIN wharf.user u ON u.organization_id = k.organization_id AND u.id = k.user_id
LEFT JOIN wharf.role r
    ON r.organization_id = u.organization_id AND r.id = u.role AND r.deleted_at IS NULL
LEFT JOIN wharf.device d ON d.organization_id = k.organization_id AND d.id = k.device_id
