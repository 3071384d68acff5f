-- Returns a moment that a client sent, null when the text is none.
CREATE OR REPLACE FUNCTION items.moment_of(moment text) RETURNS timestamptz
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE WHEN moment ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+(Z|[+-][0-9:]+)?)?$'
        THEN moment::timestamptz END;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format
    OR invalid_time_zone_displacement_value THEN
    RETURN NULL;
END
$$;
