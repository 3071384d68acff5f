-- Changes what is in parcels. $1 array of {parcel, article, lot, quantity (what is there now)},
-- $2 organization, $3 fulfillment.
INSERT INTO fulfillments.content (
    organization_id, fulfillment_id, parcel_id, article_id, lot_id, quantity
)
SELECT $2::text, $3::text, v.parcel, v.article, v.lot, v.quantity
FROM jsonb_to_recordset($1::jsonb) v(parcel text, article text, lot text, quantity numeric)
ON CONFLICT (organization_id, fulfillment_id, parcel_id, article_id, lot_id)
DO UPDATE SET quantity = excluded.quantity
