-- wharf: order=first
-- Returns what a scanner may read of an item, in lower case: its sku, gtin and upc, and the
-- barcodes of its active units. Numbers of up to 14 digits stand there with as many zeros in front
-- as GTIN-8, GTIN-12 (UPC), GTIN-13 (EAN) and GTIN-14 have: a scanner reads one and the same number
-- as any of these. The column items.item.codes stands on this function.
CREATE OR REPLACE FUNCTION items.codes_of(sku text, gtin text, upc text, units jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN coalesce((
        WITH c AS (
            SELECT x.code
            FROM (
                VALUES (lower(codes_of.sku COLLATE "default")), (codes_of.gtin), (codes_of.upc)
            ) x(code)
            WHERE x.code IS NOT NULL
            UNION
            SELECT lower((u ->> 'barcode') COLLATE "default")
            FROM jsonb_array_elements(units) u
            WHERE u ->> 'barcode' IS NOT NULL AND (u ->> 'active')::boolean
        )
        SELECT jsonb_agg(DISTINCT y.code)
        FROM (
            SELECT c.code FROM c
            UNION ALL
            SELECT lpad(ltrim(c.code, '0'), n.digits, '0')
            FROM c, (VALUES (8), (12), (13), (14)) n(digits)
            WHERE c.code ~ '^[0-9]{8,14}$' AND length(ltrim(c.code, '0')) <= n.digits
        ) y
    ), '[]');
END
$$;
