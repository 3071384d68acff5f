// The endpoints of several resources in one program: Fastify, and pg with named (prepared) statements, one process per core, keys
// checked from a short-lived cache. What it runs stands in the files of tests/bench/statements, which pgbench runs, too; what the
// answers look like it is told by one answer of the server for each resource (RESOURCES, a file that resources_peer.py writes).
'use strict'
const cluster = require('node:cluster')
const crypto = require('node:crypto')
const fs = require('node:fs')
const fastify = require('fastify')
const { Pool, types } = require('pg')

const PROCESSES = Number(process.env.PROCESSES || 2)

if (cluster.isPrimary) {
  for (let i = 0; i < PROCESSES; i++) cluster.fork()
  return
}

const { resources, constants } = JSON.parse(fs.readFileSync(process.env.RESOURCES))
types.setTypeParser(1184, t => t.replace(' ', 'T').replace(/(\.\d+)?\+00$/, (_, f) => (f || '.').padEnd(4, '0') + 'Z'))
types.setTypeParser(20, Number)
types.setTypeParser(1700, Number)
const pool = new Pool({ host: process.env.PGHOST, user: 'wharf', database: 'wharf', max: 8 })
pool.on('error', () => {}) // the cluster is stopped before the peer
const principals = new Map()

async function authenticate (req, reply) {
  const key = req.headers['svc-api-key']
  if (!key) return reply.code(401).send({ data: null, code: 'api_key.missing' })
  const hash = crypto.createHash('sha256').update(key).digest()
  const hex = hash.toString('hex')
  let who = principals.get(hex)
  if (!who || who.until < Date.now()) {
    const r = await pool.query({ name: 'key', text: 'SELECT k.* FROM wharf.token t JOIN wharf.api_key k ON k.organization_id = t.organization_id AND k.id = t.id WHERE t.hash = $1', values: [hash] })
    if (!r.rows.length) return reply.code(401).send({ data: null, code: 'api_key.invalid' })
    who = { organization: r.rows[0].organization_id, id: r.rows[0].id, until: Date.now() + 5000 }
    principals.set(hex, who)
  }
  req.who = who
}

// A script of pgbench as a statement with $1, $2, ... and the names of its values.
function statement (name, text) {
  const names = []
  const sql = text.split('\n').filter(l => !/^(--|\\)/.test(l)).join('\n').replace(/(?<!:):([a-z_]+)\b/g, (_, n) => {
    if (!names.includes(n)) names.push(n)
    return '$' + (names.indexOf(n) + 1)
  })
  return values => ({ name, text: sql, values: names.map(n => values[n] ?? constants[n]) })
}

const plain = v => v !== null && typeof v === 'object' && !Array.isArray(v)

// What a stored object does not say has the value that it has by default.
function filled (shown, value) {
  if (!plain(shown) || !plain(value)) return value
  const out = { ...shown, ...value }
  for (const k in shown) if (k in value) out[k] = filled(shown[k], value[k])
  return out
}

const derived = {
  contact: {
    nickname: r => r.alternate_names['0'] ?? null,
    primary_address: r => r.address,
    secondary_address: r => r.alternate_addresses.secondary ?? null,
    addresses: r => [r.address, ...['secondary', 'home', 'other', 'work', 'education'].map(k => r.alternate_addresses[k])].filter(Boolean)
  },
  group: {
    group_contacts: r => ({ primary: r.members.primary, children: r.members.children.slice(0, 1000) }),
    children_count: r => r.members.children.length
  },
  item: {
    totals: r => Object.fromEntries(['available_qty', 'reserved_qty', 'damaged_qty', 'on_hand_qty', 'manifested_qty'].map(k => [k, r[k]]))
  },
  station: {
    location: r => ({ id: r.location_id, name: r.location_name, code: r.location_code })
  },
  event: {
    actor: r => ({ id: r.actor_id, name: r.actor_name, type: r.actor_type }),
    status: r => r.processed_at ? 'processed' : 'pending',
    initial_webhooks: r => r.initial_webhooks ?? [],
    attempted_webhooks: r => r.attempted_webhooks ?? [],
    pending_webhooks: r => r.pending_webhooks ?? [],
    steps: r => r.steps ?? []
  }
}

function shaped (shown, row, own = {}) {
  const out = {}
  for (const field in shown) {
    if (own[field]) out[field] = own[field](row)
    else out[field] = field in row ? filled(shown[field], row[field]) : shown[field]
  }
  return out
}

// Rows of a join become records with lists of children; a column of a child is named list.column.
function records (resource, result, shown) {
  const lists = {}
  for (const { name } of result.fields) {
    const [list, field] = name.split('.')
    if (field) (lists[list] ||= []).push([field, name])
  }
  const found = new Map()
  for (const row of result.rows) {
    let record = found.get(row.id)
    if (!record) {
      record = shaped(shown, row, derived[resource.name])
      for (const list in lists) record[list] = []
      found.set(row.id, record)
    }
    for (const list in lists) {
      const id = row[list + '.id']
      if (id === null || record[list].some(c => c.id === id)) continue
      const child = {}
      for (const [field, name] of lists[list]) child[field] = row[name]
      record[list].push(resource.children[list] ? shaped(resource.children[list], child) : child)
    }
  }
  return [...found.values()]
}

const answer = (req, status, message, data, pagination = null) => ({ data, message, status, code: null, errors: [], pagination, endpoint: req.url.split('?')[0] })
const random = () => 1 + Math.floor(Math.random() * 999999999)
// The number of a row is the end of its id and of each value that it is found by.
const number = value => Number(value.match(/(\d+)\D*$/)?.[1] ?? 1) % 1000000

const app = fastify({ logger: false })
app.addHook('onRequest', authenticate)
for (const [name, resource] of Object.entries(resources)) {
  resource.name = name
  const run = {}
  for (const what in resource.statements) run[what] = statement(name + '_' + what, resource.statements[what])
  const values = (req, more) => ({ org: req.who.organization, key: req.who.id, ...resource.constants, ...more })

  app.get(resource.path + '/:id', async (req, reply) => {
    const found = records(resource, await pool.query(run.retrieve(values(req, { n: number(req.params.id) }))), resource.shown)
    if (!found.length) return reply.code(404).send({ data: null, code: 'not_found' })
    return answer(req, 200, resource.name + ' retrieved', found[0])
  })

  app.get(resource.path, async req => {
    const limit = Number(req.query.limit || 25)
    const what = Object.keys(req.query).find(k => k in run) || 'list'
    const n = what === 'search' ? 1 + resource.words.indexOf(req.query.search) : what === 'list' ? 1 : number(req.query[what])
    const found = records(resource, await pool.query(run[what](values(req, { n }))), resource.listed)
    const rows = found.slice(0, limit)
    return answer(req, 200, rows.length + ' retrieved', rows, { page: 1, limit, has_more: found.length > limit })
  })

  // It writes the values of the file, which are those of the body.
  if (run.create) {
    const body = { type: 'object', required: Object.keys(resource.body), properties: Object.fromEntries(Object.entries(resource.body).map(([k, v]) => [k, { type: Array.isArray(v) ? 'array' : typeof v }])) }
    app.post(resource.path, { schema: { body } }, async (req, reply) => {
      const now = new Date().toISOString()
      const row = { ...resource.shown, ...req.body, created_at: now, updated_at: now, created_by: req.who.id, updated_by: req.who.id }
      const more = { a: random(), b: random(), client_id: process.pid % 10000, body: JSON.stringify(req.body) }
      more['data_' + resource.shown.object] = more.answer = JSON.stringify(row)
      await pool.query(run.create(values(req, more)))
      reply.code(201)
      return answer(req, 201, resource.name + ' created', row)
    })
  }
}

app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
