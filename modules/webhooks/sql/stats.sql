-- Returns the figures of a webhook for the last 24 hours, the 24 before, and both.
CREATE OR REPLACE FUNCTION webhooks.stats(org text, webhook text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    day CONSTANT interval := '24 hours';
    at timestamptz := wharf.now();
BEGIN
    RETURN (
        SELECT jsonb_build_object(
            'last_24h', webhooks.stats_of(a.success, a.failure, a.rate_limited),
            'previous_24h', webhooks.stats_of(b.success, b.failure, b.rate_limited),
            'last_48h', webhooks.stats_of(
                a.success + b.success, a.failure + b.failure, a.rate_limited + b.rate_limited
            )
        )
        FROM webhooks.sums(org, webhook, at - day, at) a,
            webhooks.sums(org, webhook, at - 2 * day, at - day) b
    );
END
$$;
