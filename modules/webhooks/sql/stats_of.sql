-- Returns figures as answers show them.
CREATE OR REPLACE FUNCTION webhooks.stats_of(success bigint, failure bigint, rate_limited bigint)
    RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'success', success, 'failure', failure,
        'rate', trim_scale(webhooks.rate(success, failure)), 'rate_limited', rate_limited
    )
$$;
