-- Returns what the figures say of an enabled webhook (spec 07 section 10): disable, suspend,
-- degrade, recover (no longer degraded); NULL: nothing new.
CREATE OR REPLACE FUNCTION webhooks.judge(org text, webhook text, after_failure boolean)
    RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz := wharf.now();
    w record;
    hour record;
    today record;
    yesterday record;
    bad boolean;
BEGIN
    SELECT k.status, k.degraded_at, r.hour_since, r.degraded_raised_at, k.deleted_at INTO w
        FROM webhooks.webhook k
        JOIN webhooks.runtime r ON r.organization_id = k.organization_id AND r.webhook_id = k.id
        WHERE k.organization_id = org AND k.id = webhook;
    IF NOT FOUND OR w.deleted_at IS NOT NULL OR w.status <> 'enabled' THEN
        RETURN NULL;
    END IF;
    SELECT * INTO today FROM webhooks.sums(org, webhook, at - interval '24 hours', at);
    bad := today.failure * 10 > (today.success + today.failure) * 3;
    IF bad AND today.failure > 500 THEN
        SELECT * INTO yesterday
            FROM webhooks.sums(org, webhook, at - interval '48 hours', at - interval '24 hours');
        IF yesterday.failure * 10 > (yesterday.success + yesterday.failure) * 3
            AND yesterday.failure > 500 THEN
            RETURN 'disable';
        END IF;
    END IF;
    IF after_failure THEN
        SELECT * INTO hour FROM webhooks.sums(org, webhook,
            GREATEST(at - interval '60 minutes',
                date_trunc('minute', w.hour_since) - interval '1 microsecond'), at);
        IF hour.failure >= 50 AND hour.success = 0 THEN
            RETURN 'suspend';
        END IF;
    END IF;
    IF bad AND today.failure > 100 THEN
        RETURN CASE WHEN w.degraded_at IS NULL
            OR w.degraded_raised_at <= at - interval '24 hours' THEN 'degrade' END;
    END IF;
    RETURN CASE WHEN w.degraded_at IS NOT NULL THEN 'recover' END;
END
$$;
