-- Sums over (since, until]; a bucket belongs to the moment at which it begins.
CREATE OR REPLACE FUNCTION webhooks.sums(
    org text, webhook text, since timestamptz, until timestamptz,
    OUT success bigint, OUT failure bigint, OUT rate_limited bigint
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT COALESCE(sum(b.success), 0), COALESCE(sum(b.failure), 0),
        COALESCE(sum(b.rate_limited), 0)
    INTO success, failure, rate_limited FROM webhooks.bucket b
    WHERE b.organization_id = org AND b.webhook_id = webhook
        AND b.minute > since AND b.minute <= until;
END
$$;
