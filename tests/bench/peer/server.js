// The same three endpoints as the bench resource, written as a careful Node author would: Fastify with schemas, pg with named
// (prepared) statements, one process per core by cluster, keys and locations checked from a short-lived cache.
'use strict'
const cluster = require('node:cluster')
const crypto = require('node:crypto')
const fastify = require('fastify')
const { Pool } = require('pg')

const PROCESSES = Number(process.env.PROCESSES || 2)
const PORT = Number(process.env.PORT)

if (cluster.isPrimary) {
  for (let i = 0; i < PROCESSES; i++) cluster.fork()
  return
}

const pool = new Pool({ host: process.env.PGHOST, user: 'wharf', database: 'wharf', max: 8 })
pool.on('error', () => {}) // the cluster is stopped before the peer
const principals = new Map()
const columns = 'id, name, code, location_id, status, weight, count, fragile, metadata, created_at, updated_at, created_by, updated_by'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function newId (prefix) {
  let n = (BigInt(Date.now()) << 80n) | BigInt('0x' + crypto.randomBytes(10).toString('hex'))
  let out = ''
  for (let i = 0; i < 22; i++) { out = alphabet[Number(n % 62n)] + out; n /= 62n }
  return prefix + '_' + out
}

async function authenticate (req, reply) {
  const key = req.headers['svc-api-key']
  if (!key) return reply.code(401).send({ data: null, code: 'api_key.missing' })
  const hash = crypto.createHash('sha256').update(key).digest()
  const hex = hash.toString('hex')
  let who = principals.get(hex)
  if (!who || who.until < Date.now()) {
    const r = await pool.query({ name: 'key', text: 'SELECT k.* FROM wharf.token t JOIN wharf.api_key k ON k.organization_id = t.organization_id AND k.id = t.id WHERE t.hash = $1', values: [hash] })
    if (!r.rows.length) return reply.code(401).send({ data: null, code: 'api_key.invalid' })
    who = { organization: r.rows[0].organization_id, id: r.rows[0].id, scopes: r.rows[0].scopes, all: r.rows[0].allow_all_locations, until: Date.now() + 5000 }
    principals.set(hex, who)
  }
  if ((who.scopes.crates ?? who.scopes['*'] ?? 0) < (req.method === 'GET' ? 1 : 2)) return reply.code(403).send({ data: null, code: 'scope_access' })
  req.who = who
}

function shape (row) {
  row.object = 'crate'
  row.weight = row.weight === null ? null : Number(row.weight)
  row.count = Number(row.count)
  return row
}

const crate = {
  type: 'object',
  properties: {
    object: { type: 'string' }, id: { type: 'string' }, name: { type: 'string' }, code: { type: 'string', nullable: true },
    location_id: { type: 'string' }, status: { type: 'string' }, weight: { type: 'number', nullable: true }, count: { type: 'integer' },
    fragile: { type: 'boolean' }, metadata: { type: 'object', additionalProperties: true }, created_at: { type: 'string', format: 'date-time' },
    updated_at: { type: 'string', format: 'date-time' }, created_by: { type: 'string', nullable: true }, updated_by: { type: 'string', nullable: true }
  }
}
const envelope = data => ({
  type: 'object',
  properties: {
    data, message: { type: 'string' }, status: { type: 'integer' }, code: { type: 'string', nullable: true },
    errors: { type: 'array', items: { type: 'string' } }, pagination: { type: 'object', nullable: true, additionalProperties: true }, endpoint: { type: 'string' }
  }
})
const answer = (req, status, message, data, pagination = null) => ({ data, message, status, code: null, errors: [], pagination, endpoint: req.url.split('?')[0] })

const app = fastify({ logger: false })
app.addHook('onRequest', authenticate)

app.get('/v1/crates/:id', { schema: { response: { 200: envelope(crate) } } }, async (req, reply) => {
  const r = await pool.query({ name: 'retrieve', text: `SELECT ${columns} FROM bench.crate WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL`, values: [req.who.organization, req.params.id] })
  if (!r.rows.length) return reply.code(404).send({ data: null, code: 'not_found' })
  return answer(req, 200, 'Crate retrieved', shape(r.rows[0]))
})

app.get('/v1/crates', { schema: { response: { 200: envelope({ type: 'array', items: crate }) } } }, async req => {
  const limit = Number(req.query.limit || 25)
  const r = await pool.query({ name: 'list', text: `SELECT ${columns} FROM bench.crate WHERE organization_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $2`, values: [req.who.organization, limit + 1] })
  const more = r.rows.length > limit
  const rows = more ? r.rows.slice(0, limit) : r.rows
  return answer(req, 200, `${rows.length} crates retrieved`, rows.map(shape), { page: 1, limit, has_more: more })
})

const body = {
  type: 'object', required: ['name', 'location_id'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 191 }, code: { type: 'string', nullable: true, maxLength: 64 }, location_id: { type: 'string' },
    status: { type: 'string', enum: ['open', 'packed', 'sent'], default: 'open' }, weight: { type: 'number', nullable: true, minimum: 0 },
    count: { type: 'integer', minimum: 0, default: 0 }, fragile: { type: 'boolean', default: false }, metadata: { type: 'object', default: {} }
  }
}
const create = `WITH r AS (INSERT INTO bench.crate (organization_id, id, created_at, updated_at, created_by, updated_by, version, name, code, location_id, status, weight, count, fragile, metadata)
  SELECT $1::text, $2::text, $3::timestamptz, $3::timestamptz, $4::text, $4::text, 1, $5::text, $6::text, $7::text, $8::text, $9::numeric, $10::bigint, $11::boolean, $12::jsonb
  WHERE EXISTS (SELECT 1 FROM locations.location x WHERE x.organization_id = $1::text AND x.id = $7::text AND x.deleted_at IS NULL) RETURNING 1),
 g AS (INSERT INTO wharf.change_log (organization_id, id, resource, resource_id, action, changes, actor_type, actor_id, request_id, event_id, location_id, created_at)
  SELECT $1::text, $13::text, 'crate', $2::text, 'created', '[]'::jsonb, 'api_key', $4::text, $14::text, $15::text, $7::text, $3::timestamptz FROM r)
 INSERT INTO wharf.event (organization_id, id, type, timestamp, location_id, resource_type, resource_id, actor_type, actor_id, request_id, data, created_at, expires_at)
  SELECT $1::text, $15::text, 'crate.created', $3::timestamptz, $7::text, 'crate', $2::text, 'api_key', $4::text, $14::text, $16::json, $3::timestamptz, $3::timestamptz + interval '30 days' FROM r RETURNING 1`

app.post('/v1/crates', { schema: { body, response: { 201: envelope(crate) } } }, async (req, reply) => {
  const b = req.body
  const now = new Date().toISOString()
  const row = { object: 'crate', id: newId('crate'), name: b.name.trim(), code: b.code ?? null, location_id: b.location_id, status: b.status, weight: b.weight ?? null, count: b.count, fragile: b.fragile, metadata: b.metadata, created_at: now, updated_at: now, created_by: req.who.id, updated_by: req.who.id }
  const r = await pool.query({ name: 'create', text: create, values: [req.who.organization, row.id, now, req.who.id, row.name, row.code, row.location_id, row.status, row.weight, row.count, row.fragile, JSON.stringify(row.metadata), newId('log'), newId('req'), newId('evt'), JSON.stringify(row)] })
  if (!r.rowCount) return reply.code(400).send({ data: null, code: 'validation.failed' })
  reply.code(201).header('Location', '/v1/crates/' + row.id)
  return answer(req, 201, 'Crate created', row)
})

app.listen({ port: PORT, host: '127.0.0.1' })
