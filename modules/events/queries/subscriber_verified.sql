-- Marks that the owner of an address confirmed it. $1 subscriber, $2 organization, $3 now. Returns
-- the new status.
UPDATE events.subscriber
SET verified_at = $3::timestamptz, verification_expires_at = NULL, refusals = 0,
    version = version + 1, updated_at = $3::timestamptz, updated_by = 'sys',
    status = CASE
        WHEN approval_required AND approved_at IS NULL THEN 'pending_approval'
        ELSE 'active'
    END
WHERE organization_id = $2::text
    AND id = $1
    AND deleted_at IS NULL
    AND status = 'pending_verification'
RETURNING status
