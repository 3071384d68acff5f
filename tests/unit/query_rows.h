/* query_rows.h - the tables and rows of query_database.c: four rows with legs, a deleted one, one
 * of another organization, and 300 with many ties and nulls for walks. */
#define LOC_A "loc_AAAAAAAAAAAAAAAAAAAAAA"
#define LOC_B "loc_BBBBBBBBBBBBBBBBBBBBBB"

static const char setup_sql[] =
    "CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE SCHEMA bench;"
    "CREATE TABLE bench.row (organization_id text COLLATE \"C\", id text COLLATE \"C\", created_at "
    "timestamptz(3) NOT NULL, deleted_at timestamptz(3), completed_at timestamptz(3), qty "
    "numeric(15,4), status text, location_id text COLLATE \"C\", name text, is_active boolean NOT "
    "NULL, errors jsonb NOT NULL DEFAULT '[]', tags jsonb NOT NULL DEFAULT '[]', metadata jsonb "
    "NOT NULL DEFAULT '{}', note text, rank bigint NOT NULL DEFAULT 0, users jsonb NOT NULL "
    "DEFAULT '[]', device_id text COLLATE \"C\", open_to_all "
    "boolean NOT NULL DEFAULT true, PRIMARY KEY (organization_id, id));CREATE TABLE bench.leg "
    "(organization_id text COLLATE \"C\", id text COLLATE \"C\", row_id text COLLATE \"C\" NOT "
    "NULL, deleted_at timestamptz(3), is_parent "
    "boolean, label text, sizes jsonb NOT NULL DEFAULT '{}', PRIMARY KEY (organization_id, id));"
    "INSERT INTO bench.row (organization_id, id, created_at, completed_at, qty, status, "
    "location_id, name, is_active, errors, tags, metadata) VALUES "
    "('org_a','row_1','2024-01-01T00:00:00.000Z',NULL,10,'open','" LOC_A
    "','Dock 1',true,'[]','[\"a\"]',"
    "  '{\"color\":\"red\",\"t\":\"12:30\",\"n\":10}'),"
    " ('org_a','row_2','2024-01-02T00:00:00.000Z','2024-01-05T00:00:00.000Z',2.5,'closed','" LOC_B
    "','dock 1',false,"
    "  '[\"duplicate\"]','[\"a,b\"]','{\"color\":\"blue\",\"n\":9}'),"
    " ('org_a','row_3','2024-01-02T00:00:00.001Z',NULL,NULL,'open',NULL,'Smith, "
    "J',true,'[\"duplicate\",\"no_matches\"]',"
    "  '[\"!x\",\"b\"]','{}'),"
    " ('org_a','row_4','2024-01-03T12:00:00.000Z','2024-01-04T00:00:00.000Z',-1,'failed','" LOC_A
    "',NULL,true,"
    "  "
    "'[\"no_matches\"]','[\"b\"]','{\"color\":\"red\",\"a.b\":\"x\",\"flag\":true,\"u\":\"https://"
    "h:8/p\"}'),"
    " ('org_x','row_1','2024-01-01T00:00:00.000Z',NULL,10,'open','" LOC_A
    "','Dock 1',true,'[]','[\"a\"]','{}');"
    "INSERT INTO bench.row (organization_id, id, created_at, deleted_at, status, name, is_active) "
    "VALUES ('org_a','row_5','2024-01-01','2024-02-01','open','Dock 1',true);"
    "INSERT INTO bench.leg (organization_id, id, row_id, deleted_at, is_parent, label, sizes) "
    "VALUES ('org_a','leg_1','row_1',NULL,true,'Zebra "
    "1','{\"a4\":true,\"letter\":false}'),('org_a','leg_2','row_2',NULL,false,'x','{}'),"
    " ('org_a','leg_3','row_4',NULL,true,NULL,'{\"letter\":true}'),('org_a','leg_4','row_4',NULL,"
    "false,'x','{}'),"
    " ('org_a','leg_5','row_3',now(),true,'Zebra "
    "1','{\"a4\":true}'),('org_x','leg_6','row_3',NULL,true,NULL,'{\"a4\":true}');"
    /* 300 rows with many ties and nulls, for walks. */
    "INSERT INTO bench.row (organization_id, id, created_at, completed_at, qty, status, name, "
    "is_active, rank, location_id)"
    " SELECT 'org_w', 'row_' || lpad((i * 7919 % 1000)::text, 4, '0'), timestamptz '2024-01-01Z' + "
    "i / 10 * interval '1 hour',  CASE WHEN i % 3 = 0 THEN timestamptz '2024-01-01Z' + i / 20 * "
    "interval '1 ms' END,  CASE WHEN i % 4 > 0 THEN (i % 17) - 8.25 END, 'open', CASE WHEN i % 5 > "
    "0 THEN chr(65 + i % 7) || chr(97 + i % 2 - i % 3 * 32) END,  i % 2 = 0, i % 11 - 5, CASE WHEN "
    "i % 3 = 1 THEN '" LOC_A "' WHEN i % 3 = 2 THEN '" LOC_B "' END FROM generate_series(0, 299) i";
