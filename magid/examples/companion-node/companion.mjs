#!/usr/bin/env node
// A companion for magid in one file of plain Node, without dependencies: it lends the model a tool that writes notes and
// a skill that says when to use it, and keeps its word when it dies in between.
//
// What makes it safe to die is the order of things. The executor's proof is on the disk before it is confirmed; that a
// call has begun is on the disk before the tool acts; what came of it is on the disk before it is handed in. So whoever
// starts the companion again finds out for each call whether the tool ran, may have run or never did, and no call is run
// a second time.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const profile = 'application_resources_v1';

/** The error that a daemon answers with. */
class Refusal extends Error {
  constructor({ code, message }) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** One connection: a line of JSON for each record. */
class Connection {
  #socket;
  #waiting = new Map();
  #events = [];
  #wake = () => {};
  #end;
  #next = 1;

  static async open(socketPath) {
    const c = new Connection();
    c.#socket = net.connect(socketPath);
    let rest = Buffer.alloc(0);
    c.#socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let at; (at = rest.indexOf(0x0a)) >= 0; rest = rest.subarray(at + 1)) {
        c.#take(JSON.parse(rest.subarray(0, at).toString('utf8')));
      }
    });
    c.#socket.on('error', (error) => c.#over(error));
    c.#socket.on('close', () => c.#over(new Error('the daemon closed the connection')));
    const welcome = await c.call('initialize', {
      payload: { client: { name: 'companion-node', version: '1' }, requested_capabilities: [profile] },
    });
    if (!welcome.payload.negotiated_capabilities.includes(profile)) {
      throw new Error('this daemon takes no tools from applications');
    }
    c.instance = welcome.instance_id;
    return c;
  }

  /** Sends a request and gives the whole record of its answer. */
  call(method, { session = null, token = null, operation = null, payload = {} } = {}) {
    const request_id = String(this.#next++);
    const record = {
      v: 2, kind: 'request', request_id, method,
      session_id: session, control_token: token, operation_id: operation, payload,
    };
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end);
      this.#waiting.set(request_id, { resolve, reject });
      this.#socket.write(JSON.stringify(record) + '\n');
    });
  }

  /** Waits for the next event. */
  async event() {
    while (this.#events.length === 0) {
      if (this.#end) throw this.#end;
      await new Promise((wake) => { this.#wake = wake; });
    }
    return this.#events.shift();
  }

  close() { this.#socket.end(); }

  #take(record) {
    if (record.kind === 'event') {
      this.#events.push(record);
      return this.#wake();
    }
    const waiting = this.#waiting.get(record.request_id);
    if (!waiting) return this.#socket.destroy(new Error(record.error?.message ?? 'an answer to no request'));
    this.#waiting.delete(record.request_id);
    if (record.error) waiting.reject(new Refusal(record.error));
    else waiting.resolve(record);
  }

  #over(error) {
    this.#end ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    this.#wake();
  }
}

class Companion {
  constructor(workspace, file, crash) {
    this.workspace = path.resolve(workspace);
    this.file = file;
    this.crash = crash;
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    this.kept = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : { calls: {} };
  }

  /** Replaces the file as a whole, for its owner alone: it holds the proof. */
  save() {
    const next = `${this.file}.${process.pid}`;
    fs.rmSync(next, { force: true });
    const f = fs.openSync(next, 'wx', 0o600);
    fs.writeSync(f, JSON.stringify(this.kept));
    fs.fsyncSync(f);
    fs.closeSync(f);
    fs.renameSync(next, this.file);
    const folder = fs.openSync(path.dirname(this.file), 'r');
    fs.fsyncSync(folder);
    fs.closeSync(folder);
  }

  /** Calls a method of the session, with its control token; a mutation gets a fresh operation. */
  async inSession(method, payload, operation = null) {
    return (await this.c.call(method, { session: this.kept.session, token: this.token, operation, payload })).payload;
  }

  async executor(method, payload) {
    return (await this.c.call(method, { operation: randomUUID(), payload })).payload;
  }

  async claim(takeover) {
    const { payload } = await this.c.call('session.claim', {
      session: this.kept.session, operation: randomUUID(), payload: { takeover },
    });
    this.token = payload.control_token;
    return payload.snapshot;
  }

  /** Begins a session, an executor and a turn that lends both files to the model. */
  async start(prompt) {
    const made = await this.c.call('session.create', { operation: randomUUID(), payload: { workspace: this.workspace } });
    this.kept.instance = this.c.instance;
    this.kept.session = made.payload.session_id;
    await this.claim(false);
    const application = await this.register();
    const { executor_id, executor_generation, resume_secret } = await this.executor('executor.create', {});
    Object.assign(this.kept, { executor: executor_id, proof: resume_secret, operation: randomUUID() });
    this.save(); // before it is confirmed: the secret is never shown again
    await this.executor('executor.confirm', { executor_id, resume_secret });
    this.generation = executor_generation;
    Object.assign(application, { executor_id, executor_generation });
    const { turn_id } = await this.inSession('turn.start', { prompt, application }, this.kept.operation);
    return this.follow(turn_id);
  }

  /** Has both files captured, and authorizes what the daemon captured. */
  async register() {
    const application = { tool_authorizations: [] };
    for (const [kind, name, description, file] of [
      ['tool', 'add_note', "Adds one line to the person's notes.", 'add_note.json'],
      ['skill', 'manners', 'How the notes are kept.', 'manners.md'],
    ]) {
      const resource = { kind, name, description, source: { kind: 'workspace_file', path: file } };
      const { entry, registry_revision } = await this.inSession(
        'session.resources.register', { expected_revision: null, resource }, randomUUID());
      application.expected_registry_revision = registry_revision;
      const { resource_id, revision_id, revision_sha256 } = entry;
      if (kind === 'tool') application.tool_authorizations.push({ resource_id, revision_id, revision_sha256 });
    }
    return application;
  }

  /** Goes on with the turn that an earlier run started. */
  async resume() {
    if (this.c.instance !== this.kept.instance) {
      fs.rmSync(this.file);
      throw new Error('the daemon was started anew: executor and evidence are gone, `magid history` has what is durable');
    }
    // The connection of the earlier run may not have been missed yet. Events come from the claim on, calls among them.
    const { turn, terminal } = await this.claim(true);
    const resumed = await this.executor('executor.resume', { executor_id: this.kept.executor, resume_secret: this.kept.proof });
    this.generation = resumed.executor_generation;
    for (const call of resumed.pending_calls) {
      if (call.status !== 'pending') continue; // it was never sent, and now will be
      const known = this.kept.calls[call.call_id];
      await this.submit(call, known?.outcome ?? failed(known
        ? 'the companion died while the tool acted: the note may be there or not'
        : 'the companion died before the tool acted: nothing was done'));
      say(`handed in what was kept of ${call.name}`);
    }
    if (turn?.operation_id === this.kept.operation) {
      process.stdout.write(turn.text);
      return this.follow(turn.turn_id);
    }
    if (terminal?.operation_id === this.kept.operation) {
      process.stdout.write(terminal.text);
      return this.end(terminal);
    }
    say('the prompt had not reached the daemon');
    return this.leave();
  }

  /** Shows a turn to its end and runs its calls. */
  async follow(turn_id) {
    for (;;) {
      const { event, payload } = await this.c.event();
      if (event === 'turn.text') process.stdout.write(payload.text);
      if (event === 'turn.application_tool_call') await this.execute(payload);
      if (event === 'turn.terminal' && payload.turn_id === turn_id) return this.end(payload);
    }
  }

  /** Runs one call: written down, acted, written down, and only then handed in. */
  async execute(call) {
    if (this.kept.calls[call.call_id]) return; // a call is never run twice
    say(`${call.name} ${JSON.stringify(call.arguments)}`);
    this.kept.calls[call.call_id] = { outcome: null };
    this.save();
    this.dieIf('before');
    const outcome = this.addNote(call.arguments);
    this.kept.calls[call.call_id] = { outcome };
    this.save();
    this.dieIf('after');
    await this.submit(call, outcome);
  }

  /** The tool. What this application allows is checked before anything is done. */
  addNote({ text }) {
    const file = path.join(this.workspace, 'notes.txt');
    try {
      const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').length - 1 : 0;
      if (lines >= 100) return failed('the notes are full', 'permission_denied');
      fs.appendFileSync(file, JSON.stringify(text) + '\n', { mode: 0o600 });
      return { status: 'success', value: { lines: lines + 1 } };
    } catch {
      return failed('the note could not be written');
    }
  }

  /** Hands in an outcome. That the call is not open any more is no failure: the evidence tells what became of it. */
  async submit({ turn_id, call_id, resource_id, revision_id, revision_sha256 }, outcome) {
    try {
      await this.c.call('turn.application_tool_result', {
        session: this.kept.session, operation: randomUUID(),
        payload: {
          turn_id, call_id, executor_id: this.kept.executor, executor_generation: this.generation,
          resource_id, revision_id, revision_sha256, outcome,
        },
      });
    } catch (error) {
      if (error.code !== 'unknown_turn') throw error;
    }
  }

  dieIf(moment) {
    if (this.crash === moment) process.kill(process.pid, 'SIGKILL');
  }

  /** Shows how the turn ended and what is known of its calls. */
  async end(terminal) {
    process.stdout.write('\n');
    const { calls } = await this.inSession('turn.application_evidence', { turn_id: terminal.turn_id });
    for (const call of calls) say(`${call.name}: ${call.status}, effects ${call.external_effects}`);
    await this.leave();
    if (terminal.error) throw new Refusal(terminal.error);
  }

  /** Gives back what is not needed any more. */
  async leave() {
    await this.executor('executor.release', { executor_id: this.kept.executor, executor_generation: this.generation });
    await this.inSession('session.release', {}, randomUUID());
    fs.rmSync(this.file);
  }
}

const failed = (message, code = 'execution_failed') => ({ status: 'error', code, message });
const say = (text) => process.stderr.write(`· ${text}\n`);

function socketPath({ MAGI_SOCKET, XDG_RUNTIME_DIR, HOME } = process.env) {
  if (MAGI_SOCKET) return MAGI_SOCKET;
  return XDG_RUNTIME_DIR ? path.join(XDG_RUNTIME_DIR, 'magi', 'magid.sock')
    : path.join(HOME, '.local', 'state', 'magi', 'magid.sock');
}

const usage = `usage: companion.mjs --workspace FOLDER [--state FILE] [--crash before|after] [PROMPT]
Without PROMPT it goes on with what an earlier run left open.`;

async function main() {
  const text = { type: 'string' };
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { workspace: text, state: text, crash: text } });
  if (!values.workspace || positionals.length > 1 || ![undefined, 'before', 'after'].includes(values.crash)) throw new Error(usage);
  const file = values.state ?? path.join(os.homedir(), '.local', 'state', 'magi-companion.json');
  const companion = new Companion(values.workspace, file, values.crash);
  const [prompt] = positionals;
  if (companion.kept.session && prompt) {
    throw new Error(`an earlier run left something open: start without a prompt to go on with it, or delete ${file}`);
  }
  if (!companion.kept.session && !prompt) throw new Error('nothing was left open: say something');
  companion.c = await Connection.open(socketPath());
  try {
    await (prompt ? companion.start(prompt) : companion.resume());
  } finally {
    companion.c.close();
  }
}

main().catch((error) => {
  process.stderr.write(`companion: ${error.message}\n`);
  process.exitCode = 1;
});
