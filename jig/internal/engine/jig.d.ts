// What jig offers to the code of a project. `jig init` wrote this file for the
// editor; jig itself does not read it. Delete it if you bring types of your own.

/** For FLOW.ts: the run, its calls and its channels. */
declare module "@jigging/flow" {
  export type JsonScalar = null | boolean | number | string
  export type JsonValue = JsonScalar | readonly JsonValue[] | { readonly [name: string]: JsonValue }
  export type JsonObject = { readonly [name: string]: JsonValue }
  /**
   * A value that a Flow gives away. A member that one branch leaves out and another has
   * is `undefined` to the compiler, so the type allows it; one that is there and
   * `undefined` when it is given away is refused.
   */
  export type JsonGiven = JsonScalar | readonly JsonGiven[] | { readonly [name: string]: JsonGiven | undefined }

  export type AttachmentAccess = "read" | "read-write"
  export interface Attachment {
    /** A folder. */
    readonly path: string
    readonly access: AttachmentAccess
  }

  /** What a Flow comes to. `outcome` is `done` or one that its contract declares. */
  export type RunResult = { readonly outcome: string; readonly output: JsonValue }
  export type RunHandler = (run: RunContext) => Promise<{ readonly outcome: string; readonly output: JsonGiven }>

  export interface CallOptions {
    /** Gives the operation up. It is settled at once, as CANCELLED. */
    readonly signal?: AbortSignal
  }
  export interface FlowCall {
    /** Names the operation. The same id with the same content is never dispatched twice. */
    readonly operationId: string
    /** A slot that FLOW.meta.json declares under `uses`. */
    readonly slot: string
    readonly input: JsonGiven
    /** Why, for whoever reads it. It decides nothing. */
    readonly intent?: string
    /** Endpoints to hand over: those that the callee's contract names. */
    readonly channels?: { readonly [name: string]: ChannelEndpoint }
  }

  export interface RunContext {
    readonly input: JsonValue
    readonly settings: JsonObject
    readonly attachments: { readonly [name: string]: Attachment }
    readonly channels: { readonly [name: string]: ChannelEndpoint }
    /** A private folder that can be written. It is gone after the run. */
    readonly scratch: string
    /** When the host ends the run, in milliseconds since 1970, UTC. */
    readonly deadlineUnixMs: number
    /** Aborted when the run is cancelled. */
    readonly signal: AbortSignal
    readonly call: (call: FlowCall, options?: CallOptions) => Promise<RunResult>
    readonly channel: {
      (options: ChannelOptions & { readonly delivery: "broadcast" }, more?: CallOptions): Promise<ChannelBroadcast>
      (options?: ChannelOptions & { readonly delivery?: "direct" }, more?: CallOptions): Promise<ChannelPair>
    }
  }

  export interface ChannelOptions {
    readonly delivery?: "direct" | "broadcast"
    /** What an item has to look like. Not together with `contract`. */
    readonly schema?: JsonValue
    /** A descriptor in the package, or the agreement of a declared slot's channel. */
    readonly contract?: `./${string}` | { readonly slot: string; readonly channel: string }
  }
  export interface ChannelContractIdentity {
    readonly id: string
    readonly version: string
    readonly digest: string
  }
  export type ChannelCloseOptions = CallOptions & {
    /** Says that items are missing. */
    readonly error?: "LAGGED"
  }
  export interface ChannelSender {
    readonly direction: "send"
    readonly delivery: "direct" | "broadcast"
    readonly contract?: ChannelContractIdentity
    /** Settles when the host has accepted the item, not when it was read. */
    readonly send: (item: JsonGiven, options?: CallOptions) => Promise<void>
    readonly close: (options?: ChannelCloseOptions) => Promise<void>
  }
  /** Read it to its end, close it, or hand it over; otherwise the run fails. */
  export interface ChannelReceiver {
    readonly direction: "receive"
    readonly delivery: "direct" | "broadcast"
    readonly contract?: ChannelContractIdentity
    readonly startSequence: number
    readonly next: (options?: CallOptions) => Promise<IteratorResult<JsonValue, undefined>>
    readonly return: () => Promise<{ done: true; value: undefined }>
    readonly close: (options?: CallOptions) => Promise<void>
    [Symbol.asyncIterator](): ChannelReceiver
  }
  export type ChannelEndpoint = ChannelSender | ChannelReceiver
  export interface ChannelPair {
    readonly send: ChannelSender
    readonly receive: ChannelReceiver
  }
  export interface ChannelBroadcast {
    readonly send: ChannelSender
    readonly subscribe: (options?: CallOptions) => Promise<ChannelReceiver>
  }

  export type OperationErrorCode =
    | "CANCELLED" | "DEADLINE_EXCEEDED" | "OWNER_CLOSED" | "OPERATION_CONFLICT" | "UNAVAILABLE" | "PERMISSION_DENIED"
    | "RESOURCE_EXHAUSTED" | "INVALID_INPUT" | "INVALID_RESULT" | "UNCERTAIN" | "EXECUTION_FAILED" | "LAGGED" | "DISCONNECTED"
    | "PROTOCOL_ERROR" | "CHANNEL_LOST"
  /** A failed operation. A handler that throws one ends the run with it. */
  export class OperationError extends Error {
    readonly code: OperationErrorCode
    readonly details?: JsonValue
    constructor(code: OperationErrorCode, message?: string, details?: JsonGiven)
  }

  /** Serves the one run of this process. Call it once. */
  export function handle(handler: RunHandler): Promise<void>
}

/** For jig.ts and bindings/*.ts: what a project is made of. */
declare module "@jigging/jig" {
  type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value }

  /** Whatever lies in these folders, found anew by each review. */
  export interface Discover {
    readonly kind: "discover"
    readonly roots: readonly string[]
  }
  /** Folders of the project, or exactly these files and packages. */
  export type Source = Discover | readonly string[]
  export type Client = "codex" | "claude" | "pi"

  export interface JigInput {
    /** Folders that hold packages, or the packages: folders with a FLOW.ts. */
    readonly flows?: Source
    /** Folders that hold Bindings, or the Bindings: `<name>.ts`. */
    readonly bindings?: Source
    /** Folders that hold grants, or the grants: `<name>.json`. */
    readonly grants?: Source
    /** Who provides a contract where no slot says so: contract id to target. */
    readonly defaultProviders?: { readonly [contract: string]: `flow:${string}` | `binding:${string}` }
    /** The clients that `jig review --agent` may choose. */
    readonly agents?: readonly [Client, ...Client[]]
  }
  export interface Jig {
    readonly flows?: object
    readonly bindings?: object
    readonly grants?: object
    readonly defaultProviders?: object
    readonly agents?: readonly Client[]
  }

  /** One conversation with a native coding agent. */
  export interface AcpGrant {
    readonly kind: "acp"
    readonly client: Client
    readonly model?: string
    /** 1 to 8 prompts; 1 where it is left out. */
    readonly maxTurns?: number
    readonly retainSessions?: true
  }
  /** One exact request over HTTPS, made by the host. */
  export interface HttpGrant {
    readonly kind: "http"
    readonly url: string
    readonly method: "GET" | "POST"
    /** The variable of the operator's that holds a bearer token. */
    readonly bearerEnv?: string
    readonly requestBytes?: number
    readonly responseBytes?: number
    readonly timeoutMs?: number
    /** What a body has to look like. For POST only. */
    readonly bodySchema?: boolean | { readonly [name: string]: Value }
  }
  export type Grant = AcpGrant | HttpGrant
  export type Slot = `flow:${string}` | `binding:${string}` | `grant:${string}` | Grant

  export interface BindingInput {
    /** The folder of the package. */
    readonly package: string
    readonly settings?: { readonly [name: string]: Value }
    readonly slots?: { readonly [slot: string]: Slot }
  }
  export interface Binding {
    readonly kind: "package"
    readonly package: string
    readonly settings: object
    readonly slots: object
  }

  export function defineJig(input: JigInput): Jig
  export function defineBinding(input: BindingInput): Binding
  export function discover(roots: string | readonly [string, ...string[]]): Discover
}

/** For Agent Flows and for Flows that call one. */
declare module "@jigging/agent-method" {
  export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }
  export type JsonObject = { readonly [name: string]: JsonValue }

  export interface SkillText {
    readonly name: string
    /** One of them is SKILL.md. */
    readonly files: readonly { readonly path: string; readonly text: string }[]
  }
  export type AgentSessionRequest =
    | { readonly retain: true; readonly lifetime?: "run" }
    | { readonly restore: string }
  export type AgentSessionReceipt =
    | { readonly status: "retained"; readonly reference: string }
    | { readonly status: "unavailable"; readonly reason: "not-cleanly-closed" | "missing-history" | "unsupported-history" | "capacity" }
  export interface AgentCallInput {
    readonly instructions: string
    readonly skills?: readonly SkillText[]
    readonly responseSchema?: JsonObject
    readonly guidance?: readonly { readonly label: string; readonly text: string }[]
  }
  export interface AgentInput extends AgentCallInput {
    readonly conversation?: true
    readonly session?: AgentSessionRequest
  }
  export interface AgentTransportInput {
    readonly prompt: string
    readonly responseSchema?: JsonObject
  }
  export type AgentTransportResult = {
    readonly outcome: "done"
    readonly output: { readonly text: string; readonly stop: "end-turn" | "refusal" | "limit" }
  }
  export interface PreparedAgent {
    readonly request: AgentTransportInput
    readonly session?: AgentSessionRequest
  }
  export type AgentResult = {
    readonly outcome: "done" | "blocked" | "limit"
    readonly output: { readonly text: string; readonly structured?: JsonValue; readonly session?: AgentSessionReceipt }
  }

  export type AgentMethodErrorCode = "INVALID_INPUT" | "INVALID_RESULT" | "RESOURCE_EXHAUSTED"
  export class AgentMethodError extends Error {
    readonly code: AgentMethodErrorCode
    constructor(code: AgentMethodErrorCode, message?: string)
  }
  /** Refuses a schema that not every client can be held to. */
  export function assertResponseSchema(schema: unknown): void
  /** What of a schema a model is told. */
  export function projectResponseSchema(schema: unknown): JsonObject
  /** Checks the input of an Agent and renders its prompt. */
  export function prepareAgent(input: unknown, skills?: readonly SkillText[]): PreparedAgent
  /** Makes the Agent's result of what a transport brought back. */
  export function finishAgent(prepared: PreparedAgent, result: AgentTransportResult): AgentResult
  /** Checks what a call of an Agent gave. */
  export function checkAgentResult(result: unknown, responseSchema?: JsonObject): AgentResult
}

// The globals that a Flow has beside those of the language. A declaration has
// none of them.

interface Console {
  log(...data: unknown[]): void
  info(...data: unknown[]): void
  debug(...data: unknown[]): void
  warn(...data: unknown[]): void
  error(...data: unknown[]): void
  trace(...data: unknown[]): void
  assert(condition?: unknown, ...data: unknown[]): void
  dir(value: unknown, options?: object): void
  table(value: unknown): void
  group(...data: unknown[]): void
  groupEnd(): void
  count(label?: string): void
  countReset(label?: string): void
  time(label?: string): void
  timeLog(label?: string, ...data: unknown[]): void
  timeEnd(label?: string): void
}
/** Goes to standard error. */
declare var console: Console

interface Event {
  readonly type: string
  readonly target: EventTarget | null
  readonly defaultPrevented: boolean
  preventDefault(): void
  stopImmediatePropagation(): void
}
declare var Event: { prototype: Event; new (type: string, options?: { cancelable?: boolean }): Event }
type EventListener = ((event: Event) => void) | { handleEvent(event: Event): void }
interface EventTarget {
  addEventListener(type: string, listener: EventListener | null, options?: boolean | { once?: boolean; signal?: AbortSignal }): void
  removeEventListener(type: string, listener: EventListener | null, options?: boolean | object): void
  dispatchEvent(event: Event): boolean
}
declare var EventTarget: { prototype: EventTarget; new (): EventTarget }
interface AbortSignal extends EventTarget {
  readonly aborted: boolean
  readonly reason: any
  onabort: ((this: AbortSignal, event: Event) => void) | null
  throwIfAborted(): void
}
declare var AbortSignal: { prototype: AbortSignal; any(signals: Iterable<AbortSignal>): AbortSignal; abort(reason?: unknown): AbortSignal; timeout(ms: number): AbortSignal }
interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}
declare var AbortController: { prototype: AbortController; new (): AbortController }
interface DOMException extends Error {
  readonly code: number
}
declare var DOMException: { prototype: DOMException; new (message?: string, name?: string): DOMException }

interface Timeout {
  ref(): this
  unref(): this
  hasRef(): boolean
  refresh(): this
  [Symbol.toPrimitive](): number
}
declare function setTimeout<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): Timeout
declare function setInterval<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): Timeout
declare function setImmediate<A extends unknown[]>(callback: (...args: A) => void, ...args: A): Timeout
declare function clearTimeout(timer: Timeout | number | undefined): void
declare function clearInterval(timer: Timeout | number | undefined): void
declare function clearImmediate(timer: Timeout | number | undefined): void
declare function queueMicrotask(callback: () => void): void
declare function structuredClone<T>(value: T, options?: { transfer?: ArrayBuffer[] }): T
declare function atob(text: string): string
declare function btoa(text: string): string

interface TextEncoder {
  readonly encoding: "utf-8"
  encode(text?: string): Uint8Array
  encodeInto(text: string, target: Uint8Array): { read: number; written: number }
}
declare var TextEncoder: { prototype: TextEncoder; new (): TextEncoder }
interface TextDecoder {
  readonly encoding: "utf-8"
  readonly fatal: boolean
  readonly ignoreBOM: boolean
  decode(bytes?: ArrayBufferView | ArrayBuffer, options?: { stream?: boolean }): string
}
declare var TextDecoder: { prototype: TextDecoder; new (label?: "utf-8" | "utf8", options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder }

interface URLSearchParams extends Iterable<[string, string]> {
  readonly size: number
  append(name: string, value: string): void
  delete(name: string, value?: string): void
  get(name: string): string | null
  getAll(name: string): string[]
  has(name: string, value?: string): boolean
  set(name: string, value: string): void
  sort(): void
  forEach(callback: (value: string, name: string, all: URLSearchParams) => void): void
  entries(): IterableIterator<[string, string]>
  keys(): IterableIterator<string>
  values(): IterableIterator<string>
  toString(): string
}
declare var URLSearchParams: { prototype: URLSearchParams; new (init?: string | Iterable<readonly [string, string]> | Record<string, string>): URLSearchParams }
interface URL {
  href: string
  pathname: string
  search: string
  hash: string
  readonly origin: string
  readonly protocol: string
  readonly username: string
  readonly password: string
  readonly host: string
  readonly hostname: string
  readonly port: string
  readonly searchParams: URLSearchParams
  toString(): string
  toJSON(): string
}
declare var URL: { prototype: URL; new (url: string | URL, base?: string | URL): URL; canParse(url: string, base?: string): boolean; parse(url: string, base?: string): URL | null }

declare var performance: { now(): number; readonly timeOrigin: number }
declare var crypto: {
  randomUUID(): string
  getRandomValues<T extends ArrayBufferView>(array: T): T
  readonly subtle: { digest(algorithm: "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512" | { name: string }, data: ArrayBufferView | ArrayBuffer): Promise<ArrayBuffer> }
}

type BufferEncoding = "utf8" | "utf-8" | "hex" | "base64" | "base64url" | "ascii" | "latin1" | "binary" | "utf16le"
interface Buffer extends Uint8Array {
  toString(encoding?: BufferEncoding, start?: number, end?: number): string
  toJSON(): { type: "Buffer"; data: number[] }
  equals(other: Uint8Array): boolean
  compare(other: Uint8Array): number
  subarray(start?: number, end?: number): Buffer
  write(text: string, offset?: number, length?: number, encoding?: BufferEncoding): number
  copy(target: Uint8Array, at?: number, start?: number, end?: number): number
}
declare var Buffer: {
  prototype: Buffer
  from(text: string, encoding?: BufferEncoding): Buffer
  from(data: ArrayLike<number> | ArrayBuffer, offset?: number, length?: number): Buffer
  alloc(size: number, fill?: string | number): Buffer
  concat(list: readonly Uint8Array[], size?: number): Buffer
  byteLength(text: string | ArrayBufferView, encoding?: BufferEncoding): number
  compare(a: Uint8Array, b: Uint8Array): number
  isBuffer(value: unknown): value is Buffer
  isEncoding(name: string): name is BufferEncoding
}

declare var process: {
  readonly argv: string[]
  readonly env: { [name: string]: string | undefined }
  readonly platform: string
  readonly versions: { readonly [name: string]: string | undefined }
  exitCode: number | undefined
  cwd(): string
  exit(code?: number): never
  nextTick<A extends unknown[]>(callback: (...args: A) => void, ...args: A): void
  hrtime: { (since?: [number, number]): [number, number]; bigint(): bigint }
  uptime(): number
  readonly stdin: AsyncIterable<Buffer | string> & { setEncoding(encoding: "utf8"): any; on(name: string, listener: (value: any) => void): any; off(name: string, listener: (value: any) => void): any; pause(): any; resume(): any }
  readonly stdout: { write(chunk: string | Uint8Array): boolean }
  readonly stderr: { write(chunk: string | Uint8Array): boolean }
}

interface ImportMeta {
  readonly url: string
  readonly filename: string
  readonly dirname: string
  readonly main: boolean
}

// The modules of node that a Flow has.

declare module "node:path" {
  interface Path {
    readonly sep: "/"
    readonly delimiter: ":"
    join(...parts: string[]): string
    resolve(...parts: string[]): string
    normalize(path: string): string
    relative(from: string, to: string): string
    dirname(path: string): string
    basename(path: string, suffix?: string): string
    extname(path: string): string
    isAbsolute(path: string): boolean
    parse(path: string): { root: string; dir: string; base: string; ext: string; name: string }
    format(path: { root?: string; dir?: string; base?: string; ext?: string; name?: string }): string
    readonly posix: Path
  }
  const path: Path
  export default path
  export const { sep, delimiter, join, resolve, normalize, relative, dirname, basename, extname, isAbsolute, parse, format, posix }: Path
}

declare module "node:fs" {
  export type PathLike = string | URL | Uint8Array
  export interface Stats {
    isFile(): boolean
    isDirectory(): boolean
    isSymbolicLink(): boolean
    readonly size: number
    readonly mode: number
    readonly mtimeMs: number
    readonly mtime: Date
  }
  export interface Dirent {
    readonly name: string
    readonly parentPath: string
    isFile(): boolean
    isDirectory(): boolean
    isSymbolicLink(): boolean
  }
  type Data = string | ArrayBufferView
  type Encoded = BufferEncoding | { encoding: BufferEncoding; flag?: string }
  type Written = BufferEncoding | { encoding?: BufferEncoding; flag?: string; mode?: number }
  export function readFileSync(path: PathLike): Buffer
  export function readFileSync(path: PathLike, options: Encoded): string
  export function writeFileSync(path: PathLike, data: Data, options?: Written): void
  export function appendFileSync(path: PathLike, data: Data, options?: Written): void
  export function readdirSync(path: PathLike, options?: { recursive?: boolean }): string[]
  export function readdirSync(path: PathLike, options: { recursive?: boolean; withFileTypes: true }): Dirent[]
  export function statSync(path: PathLike): Stats
  export function lstatSync(path: PathLike): Stats
  export function mkdirSync(path: PathLike, options?: { recursive?: boolean }): string | undefined
  export function mkdtempSync(prefix: string): string
  export function rmSync(path: PathLike, options?: { recursive?: boolean; force?: boolean }): void
  export function renameSync(from: PathLike, to: PathLike): void
  export function copyFileSync(from: PathLike, to: PathLike, mode?: number): void
  export function cpSync(from: PathLike, to: PathLike, options?: { recursive?: boolean; force?: boolean }): void
  export function unlinkSync(path: PathLike): void
  export function accessSync(path: PathLike, mode?: number): void
  export function realpathSync(path: PathLike): string
  export function existsSync(path: PathLike): boolean
  export const constants: { readonly F_OK: 0; readonly R_OK: 4; readonly W_OK: 2; readonly X_OK: 1; readonly COPYFILE_EXCL: 1 }
  export const promises: typeof import("node:fs/promises")
}

declare module "node:fs/promises" {
  import type { Dirent, PathLike, Stats } from "node:fs"
  type Data = string | ArrayBufferView
  type Encoded = BufferEncoding | { encoding: BufferEncoding; flag?: string }
  type Written = BufferEncoding | { encoding?: BufferEncoding; flag?: string; mode?: number }
  export function readFile(path: PathLike): Promise<Buffer>
  export function readFile(path: PathLike, options: Encoded): Promise<string>
  export function writeFile(path: PathLike, data: Data, options?: Written): Promise<void>
  export function appendFile(path: PathLike, data: Data, options?: Written): Promise<void>
  export function readdir(path: PathLike, options?: { recursive?: boolean }): Promise<string[]>
  export function readdir(path: PathLike, options: { recursive?: boolean; withFileTypes: true }): Promise<Dirent[]>
  export function stat(path: PathLike): Promise<Stats>
  export function lstat(path: PathLike): Promise<Stats>
  export function mkdir(path: PathLike, options?: { recursive?: boolean }): Promise<string | undefined>
  export function mkdtemp(prefix: string): Promise<string>
  export function rm(path: PathLike, options?: { recursive?: boolean; force?: boolean }): Promise<void>
  export function rename(from: PathLike, to: PathLike): Promise<void>
  export function copyFile(from: PathLike, to: PathLike, mode?: number): Promise<void>
  export function cp(from: PathLike, to: PathLike, options?: { recursive?: boolean; force?: boolean }): Promise<void>
  export function unlink(path: PathLike): Promise<void>
  export function access(path: PathLike, mode?: number): Promise<void>
  export function realpath(path: PathLike): Promise<string>
}

declare module "node:os" {
  export const EOL: "\n"
  /** The scratch folder. */
  export function tmpdir(): string
  export function platform(): string
}

declare module "node:url" {
  export function fileURLToPath(url: string | URL): string
  export function pathToFileURL(path: string): URL
  const URLOfThisHost: typeof URL
  const URLSearchParamsOfThisHost: typeof URLSearchParams
  export { URLOfThisHost as URL, URLSearchParamsOfThisHost as URLSearchParams }
}

declare module "node:util" {
  export function inspect(value: unknown, options?: { depth?: number | null; showHidden?: boolean }): string
  export function format(...values: unknown[]): string
  export function isDeepStrictEqual(a: unknown, b: unknown): boolean
  export function promisify<A extends unknown[], T>(f: (...args: [...A, (error: unknown, value: T) => void]) => void): (...args: A) => Promise<T>
}

declare module "node:events" {
  export class EventEmitter {
    on(name: string | symbol, listener: (...args: any[]) => void): this
    once(name: string | symbol, listener: (...args: any[]) => void): this
    off(name: string | symbol, listener: (...args: any[]) => void): this
    emit(name: string | symbol, ...args: unknown[]): boolean
    removeAllListeners(name?: string | symbol): this
    listenerCount(name: string | symbol): number
    static once(emitter: EventEmitter | EventTarget, name: string, options?: { signal?: AbortSignal }): Promise<unknown[]>
  }
  export const once: typeof EventEmitter.once
  export default EventEmitter
}

declare module "node:assert" {
  interface Assert {
    (value: unknown, message?: string | Error): asserts value
    ok(value: unknown, message?: string | Error): asserts value
    equal(actual: unknown, expected: unknown, message?: string | Error): void
    notEqual(actual: unknown, expected: unknown, message?: string | Error): void
    strictEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T
    notStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void
    deepEqual(actual: unknown, expected: unknown, message?: string | Error): void
    deepStrictEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T
    match(text: string, pattern: RegExp, message?: string | Error): void
    throws(f: () => unknown, expected?: unknown, message?: string): void
    rejects(f: Promise<unknown> | (() => Promise<unknown>), expected?: unknown, message?: string): Promise<void>
    fail(message?: string | Error): never
    readonly strict: Assert
  }
  const assert: Assert
  export default assert
}

declare module "node:assert/strict" {
  import assert from "node:assert"
  export default assert
}

declare module "node:timers/promises" {
  export function setTimeout<T = void>(ms?: number, value?: T, options?: { signal?: AbortSignal }): Promise<T>
  export function setImmediate<T = void>(value?: T, options?: { signal?: AbortSignal }): Promise<T>
  export function setInterval<T = void>(ms?: number, value?: T, options?: { signal?: AbortSignal }): AsyncIterable<T>
}

declare module "node:buffer" {
  const BufferOfThisHost: typeof Buffer
  export { BufferOfThisHost as Buffer }
}

declare module "node:process" {
  const processOfThisHost: typeof process
  export default processOfThisHost
}

declare module "node:crypto" {
  interface Hash {
    update(data: string | ArrayBufferView, encoding?: BufferEncoding): this
    digest(): Buffer
    digest(encoding: BufferEncoding): string
    copy(): Hash
  }
  type Algorithm = "sha256" | "sha384" | "sha512" | "sha224" | "sha1" | "md5"
  export function createHash(algorithm: Algorithm): Hash
  export function createHmac(algorithm: Algorithm, key: string | ArrayBufferView): Hash
  export function randomUUID(): string
  export function randomBytes(size: number): Buffer
  export function randomInt(min: number, max?: number): number
  export function timingSafeEqual(a: ArrayBufferView, b: ArrayBufferView): boolean
}
