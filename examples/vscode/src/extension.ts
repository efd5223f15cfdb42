import * as path from "node:path";
import * as vscode from "vscode";

import { LIMITS } from "./bridge";
import { below } from "./findings";
import { Line, Lines, iterationLines, taskLines } from "./lines";
import { bar } from "./model";
import { Session, Ui } from "./session";
import { Target } from "./tree";
import { fields, reason, text } from "./values";

/** Files as they are in a commit. */
const SCHEME = "ralph-commit";

/** A session for each workspace folder that one was wanted for. */
class Extension implements vscode.Disposable {
  private readonly sessions = new Map<string, Session>();
  private readonly out = vscode.window.createOutputChannel("ralph");
  private readonly bar = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 50);
  private readonly problems = vscode.languages.createDiagnosticCollection("ralph");
  private readonly tasks = new Lines(() => taskLines(this.all()));
  private readonly iterations = new Lines(() => iterationLines(this.all()));
  /** Files of which a problem is shown, by folder. */
  private readonly shown = new Map<string, string[]>();

  constructor(context: vscode.ExtensionContext) {
    const command = (name: string, act: (line?: Line) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(`ralph.${name}`, (line?: unknown) =>
        act(line instanceof Line ? line : undefined),
      );
    const on = (act: (session: Session) => Promise<unknown>) => async (line?: Line) => {
      const session = line?.session ?? (await this.pick());
      if (session !== undefined) {
        await act(session);
      }
    };
    context.subscriptions.push(
      this.out,
      this.bar,
      this.problems,
      command("startBridge", on((session) => session.start())),
      command("stopBridge", on((session) => session.stop())),
      command("step", on((session) => session.step())),
      command("run", on((session) => this.run(session))),
      command("stopRun", on((session) => session.stopRun())),
      command("pause", on((session) => session.rest("pause"))),
      command("resume", on((session) => session.rest("resume"))),
      command("refresh", on((session) => session.refresh())),
      // Not among the package's commands: a click in a tree.
      vscode.commands.registerCommand("ralph.open", (session: Session, target: Target) =>
        this.open(session, target).catch((e: unknown) => vscode.window.showErrorMessage(reason(e))),
      ),
      vscode.window.registerTreeDataProvider("ralph.tasks", this.tasks),
      vscode.window.registerTreeDataProvider("ralph.iterations", this.iterations),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: (uri) => this.contentOf(uri),
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(({ removed }) => this.removed(removed)),
      vscode.workspace.onDidSaveTextDocument((document) => this.saved(document)),
      vscode.window.onDidChangeActiveTextEditor(() => this.refreshBar()),
    );
    this.refreshBar();
  }

  async dispose(): Promise<void> {
    const all = this.all();
    this.sessions.clear();
    await Promise.all(all.map((session) => session.dispose()));
  }

  private all(): Session[] {
    return [...this.sessions.values()];
  }

  private session(folder: vscode.WorkspaceFolder): Session {
    const key = folder.uri.toString();
    let session = this.sessions.get(key);
    if (session === undefined) {
      const config = vscode.workspace.getConfiguration("ralph", folder.uri);
      const command = config.get<string>("command") || "ralph";
      const request = Math.max(1, config.get<number>("timeoutSeconds") ?? 30) * 1000;
      const cwd = folder.uri.fsPath;
      const limits = { ...LIMITS, request };
      session = new Session({ command, cwd, limits, ui: this.ui(key, folder.name, command, cwd) });
      this.sessions.set(key, session);
    }
    return session;
  }

  private ui(key: string, name: string, command: string, cwd: string): Ui {
    return {
      changed: () => this.changed(key),
      offer: async (severity, said, action) => {
        const show = {
          info: vscode.window.showInformationMessage,
          warning: vscode.window.showWarningMessage,
          error: vscode.window.showErrorMessage,
        }[severity];
        return action === undefined ? (void show(said), false) : (await show(said, action)) === action;
      },
      trust: () => {
        // It asks; no shell in between.
        const shown = { name: "ralph trust", cwd, shellPath: command, shellArgs: ["trust"] };
        vscode.window.createTerminal(shown).show();
      },
      log: (line) => this.out.appendLine(`[${name}] ${line}`),
    };
  }

  /** The folder of the active editor, or the only one, or the one that is chosen. */
  private async pick(): Promise<Session | undefined> {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file");
    if (folders.length === 0) {
      void vscode.window.showErrorMessage("ralph: open a folder first");
      return undefined;
    }
    const active = this.activeFolder();
    const one = folders.length === 1 ? folders[0] : (active ?? (await vscode.window.showWorkspaceFolderPick()));
    return one === undefined ? undefined : this.session(one);
  }

  private activeFolder(): vscode.WorkspaceFolder | undefined {
    const uri = vscode.window.activeTextEditor?.document.uri;
    return uri?.scheme === "file" ? vscode.workspace.getWorkspaceFolder(uri) : undefined;
  }

  private async run(session: Session): Promise<void> {
    if (!(await session.start())) {
      return;
    }
    const usual = "as configured";
    const agents = session.model.status?.agents ?? [];
    const agent = await vscode.window.showQuickPick([usual, ...agents], { title: "Which agent works?" });
    if (agent === undefined) {
      return;
    }
    const most = await vscode.window.showInputBox({
      title: "How many iterations at most?",
      placeHolder: usual,
      validateInput: (typed) =>
        typed === "" || /^[1-9][0-9]{0,4}$/.test(typed) ? undefined : "a whole number from 1 to 99999, or nothing",
    });
    if (most === undefined) {
      return;
    }
    await session.run(agent === usual ? undefined : agent, most === "" ? undefined : Number(most));
  }

  private changed(key: string): void {
    this.tasks.refresh();
    this.iterations.refresh();
    this.refreshBar();
    const files = this.sessions.get(key)?.findings.byFile() ?? new Map<string, never[]>();
    for (const file of this.shown.get(key) ?? []) {
      if (!files.has(file)) {
        this.problems.delete(vscode.Uri.file(file));
      }
    }
    this.shown.set(key, [...files.keys()]);
    for (const [file, problems] of files) {
      const shown = problems.map((problem) => {
        const place = new vscode.Range(problem.line, 0, problem.line, Number.MAX_SAFE_INTEGER);
        const { Error, Warning } = vscode.DiagnosticSeverity;
        const one = new vscode.Diagnostic(place, problem.message, problem.warns ? Warning : Error);
        one.source = `ralph: ${problem.gate}`;
        one.code = problem.rule;
        return one;
      });
      this.problems.set(vscode.Uri.file(file), shown);
    }
  }

  private refreshBar(): void {
    const active = this.activeFolder();
    const of = active === undefined ? undefined : this.sessions.get(active.uri.toString());
    const session = of ?? this.all().find((one) => one.model.phase !== "off") ?? this.all()[0];
    if (session === undefined) {
      this.bar.hide();
      return;
    }
    const shown = bar(session.model, path.basename(session.folder));
    this.bar.text = shown.text;
    this.bar.tooltip = shown.tooltip;
    this.bar.backgroundColor = shown.warn
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
    this.bar.command = session.model.phase === "off" || session.model.phase === "died"
      ? "ralph.startBridge"
      : "ralph.tasks.focus";
    this.bar.show();
  }

  private removed(folders: readonly vscode.WorkspaceFolder[]): void {
    for (const { uri } of folders) {
      const key = uri.toString();
      const session = this.sessions.get(key);
      this.sessions.delete(key);
      this.changed(key);
      void session?.dispose();
    }
  }

  /** A person has changed tasks or configuration. */
  private saved({ uri }: vscode.TextDocument): void {
    for (const session of this.all()) {
      const files = [session.model.tasks.file, "ralph.toml"].filter((file) => file !== "");
      if (files.some((file) => below(session.root, file) === uri.fsPath)) {
        void session.refresh();
      }
    }
  }

  private async open(session: Session, target: Target): Promise<void> {
    const file = below(session.root, target.path);
    if (file === undefined) {
      throw new Error(`${target.path} lies outside the folder`);
    }
    const uri = vscode.Uri.file(file);
    if (target.kind === "folder") {
      await vscode.commands.executeCommand("revealInExplorer", uri);
    } else if (target.kind === "file") {
      const line = Math.max(0, (target.line ?? 1) - 1);
      const selection = new vscode.Range(line, 0, line, 0);
      await vscode.window.showTextDocument(uri, { preview: true, selection });
    } else {
      const at = (commit: string): vscode.Uri => {
        const query = JSON.stringify({ root: session.root, commit });
        return vscode.Uri.file(file).with({ scheme: SCHEME, query });
      };
      const base = path.basename(file);
      const [left, right, title] =
        target.kind === "commit"
          ? [at(`${target.commit}^`), at(target.commit), `${base} (${target.commit.slice(0, 10)})`]
          : [at("HEAD"), uri, `${base} (last commit ↔ now)`];
      await vscode.commands.executeCommand("vscode.diff", left, right, title);
    }
  }

  private async contentOf(uri: vscode.Uri): Promise<string> {
    const asked = fields(JSON.parse(uri.query));
    const [root, commit] = [text(asked["root"]), text(asked["commit"])];
    const session = this.all().find((one) => one.root === root);
    if (session === undefined || !/^(HEAD|[0-9a-f]{7,64}\^?)$/.test(commit)) {
      return "";
    }
    const relative = path.relative(root, uri.fsPath).split(path.sep).join("/");
    return await session.cli.fileAt(root, commit, relative);
  }
}

let extension: Extension | undefined;

export function activate(context: vscode.ExtensionContext): void {
  extension = new Extension(context);
}

/** The editor waits for this: bridges end in order. */
export async function deactivate(): Promise<void> {
  await extension?.dispose();
  extension = undefined;
}
