-- Returns the figures of a webhook for the last 24 hours, the 24 before, and both.
CREATE OR REPLACE FUNCTION webhooks.stats(org text, webhook text) RETURNS jsonb LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('last_24h', webhooks.stats_of(a.success, a.failure, a.rate_limited),
        'previous_24h', webhooks.stats_of(b.success, b.failure, b.rate_limited),
        'last_48h', webhooks.stats_of(a.success + b.success, a.failure + b.failure, a.rate_limited + b.rate_limited))
    FROM webhooks.sums(org, webhook, wharf.now() - interval '24 hours', wharf.now()) a,
        webhooks.sums(org, webhook, wharf.now() - interval '48 hours', wharf.now() - interval '24 hours') b);
END
$$;
