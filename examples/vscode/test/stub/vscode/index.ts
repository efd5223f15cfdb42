/** Stands in for the editor: so much of its API as the extension uses, and what was done to it. */

import * as path from "node:path";

export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): Disposable => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const listener of this.listeners) {
      listener(value);
    }
  }
}

interface Disposable {
  dispose(): unknown;
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly fsPath: string,
    readonly query: string,
  ) {}
  static file(name: string): Uri {
    return new Uri("file", name, "");
  }
  with(change: { scheme?: string; query?: string }): Uri {
    return new Uri(change.scheme ?? this.scheme, this.fsPath, change.query ?? this.query);
  }
  toString(): string {
    return `${this.scheme}://${this.fsPath}?${this.query}`;
  }
}

export class Range {
  readonly start: { line: number; character: number };
  readonly end: { line: number; character: number };
  constructor(line: number, character: number, endLine: number, endCharacter: number) {
    this.start = { line, character };
    this.end = { line: endLine, character: endCharacter };
  }
}

export class Diagnostic {
  source: string | undefined;
  code: string | undefined;
  constructor(
    readonly range: Range,
    readonly message: string,
    readonly severity: number,
  ) {}
}

export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState: number,
  ) {}
}

export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export const DiagnosticSeverity = { Error: 0, Warning: 1 };
export const StatusBarAlignment = { Left: 1 };
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1 };

export interface Folder {
  readonly uri: Uri;
  readonly name: string;
  readonly index: number;
}

export interface Provider {
  getTreeItem(line: unknown): TreeItem;
  getChildren(line?: unknown): Promise<TreeItem[]>;
}

/** What a test sets, and reads. */
export const stub = {
  commands: new Map<string, (...args: unknown[]) => unknown>(),
  settings: new Map<string, unknown>(),
  folders: [] as Folder[],
  /** What a person answers; nothing if it isn't there. */
  answers: [] as (string | undefined)[],
  messages: [] as { severity: string; text: string; actions: string[] }[],
  message: new EventEmitter<void>(),
  log: [] as string[],
  bar: { text: "", tooltip: "", visible: false, command: "" },
  bars: new EventEmitter<void>(),
  trees: new Map<string, Provider>(),
  diagnostics: new Map<string, Diagnostic[]>(),
  executed: [] as { command: string; args: unknown[] }[],
  opened: [] as { file: string; line: number }[],
  terminals: [] as { shellPath: string; shellArgs: string[]; cwd: string }[],
  content: undefined as ((uri: Uri) => Promise<string>) | undefined,
  foldersChanged: new EventEmitter<{ removed: Folder[]; added: Folder[] }>(),
  saved: new EventEmitter<{ uri: Uri }>(),
  folder(name: string): Folder {
    return { uri: Uri.file(name), name: path.basename(name), index: 0 };
  },
};

const message =
  (severity: string) =>
  async (text: string, ...actions: string[]): Promise<string | undefined> => {
    stub.messages.push({ severity, text, actions });
    stub.message.fire();
    return actions.length === 0 ? undefined : stub.answers.shift();
  };

const nothing: Disposable = { dispose: () => {} };

export const window = {
  activeTextEditor: undefined as { document: { uri: Uri } } | undefined,
  createOutputChannel: () => ({ appendLine: (line: string) => stub.log.push(line), dispose: () => {} }),
  createStatusBarItem: () => ({
    set text(text: string) {
      stub.bar.text = text;
    },
    set tooltip(text: string) {
      stub.bar.tooltip = text;
    },
    set command(command: string) {
      stub.bar.command = command;
    },
    backgroundColor: undefined as ThemeColor | undefined,
    show: () => {
      stub.bar.visible = true;
      stub.bars.fire();
    },
    hide: () => {
      stub.bar.visible = false;
      stub.bars.fire();
    },
    dispose: () => {},
  }),
  showInformationMessage: message("info"),
  showWarningMessage: message("warning"),
  showErrorMessage: message("error"),
  showQuickPick: async () => stub.answers.shift(),
  showInputBox: async (options: { validateInput: (text: string) => string | undefined }) => {
    const typed = stub.answers.shift();
    return typed === undefined || options.validateInput(typed) === undefined ? typed : undefined;
  },
  showWorkspaceFolderPick: async () => stub.folders.find((f) => f.name === stub.answers[0]),
  createTerminal: (options: { shellPath: string; shellArgs: string[]; cwd: string }) => {
    stub.terminals.push(options);
    return { show: () => {} };
  },
  registerTreeDataProvider: (id: string, provider: Provider) => {
    stub.trees.set(id, provider);
    return nothing;
  },
  showTextDocument: async (uri: Uri, { selection }: { selection: Range }) => {
    stub.opened.push({ file: uri.fsPath, line: selection.start.line });
  },
  onDidChangeActiveTextEditor: new EventEmitter<unknown>().event,
};

export const workspace = {
  get workspaceFolders(): Folder[] {
    return stub.folders;
  },
  getWorkspaceFolder: (uri: Uri) => stub.folders.find((f) => uri.fsPath.startsWith(f.uri.fsPath + path.sep)),
  getConfiguration: () => ({ get: (key: string) => stub.settings.get(key) }),
  registerTextDocumentContentProvider: (
    _scheme: string,
    provider: { provideTextDocumentContent(uri: Uri): Promise<string> },
  ) => {
    stub.content = (uri) => provider.provideTextDocumentContent(uri);
    return nothing;
  },
  onDidChangeWorkspaceFolders: stub.foldersChanged.event,
  onDidSaveTextDocument: stub.saved.event,
};

export const languages = {
  createDiagnosticCollection: () => ({
    set: (uri: Uri, all: Diagnostic[]) => stub.diagnostics.set(uri.fsPath, all),
    delete: (uri: Uri) => stub.diagnostics.delete(uri.fsPath),
    dispose: () => {},
  }),
};

export const commands = {
  registerCommand: (name: string, act: (...args: unknown[]) => unknown) => {
    stub.commands.set(name, act);
    return nothing;
  },
  executeCommand: async (command: string, ...args: unknown[]) => {
    stub.executed.push({ command, args });
    return await stub.commands.get(command)?.(...args);
  },
};
