import * as vscode from "vscode";

import { Session } from "./session";
import { Node, detailNodes, iterationNodes, taskNodes } from "./tree";
import { reason } from "./values";

/** A node as the editor shows it, and whose it is. */
export class Line extends vscode.TreeItem {
  constructor(
    readonly session: Session,
    readonly node: Node,
  ) {
    const opens = (node.children?.length ?? 0) > 0 || node.iteration !== undefined;
    const { Collapsed, None } = vscode.TreeItemCollapsibleState;
    super(node.label, opens ? Collapsed : None);
    this.id = `${session.folder}:${node.id}`;
    this.description = node.description;
    this.tooltip = node.tooltip;
    this.iconPath = new vscode.ThemeIcon(node.icon);
    if (node.target !== undefined) {
      this.command = { command: "ralph.open", title: "Open", arguments: [session, node.target] };
    }
  }
}

/** With several folders each is a line of its own. */
function lines(sessions: readonly Session[], of: (session: Session) => Node[]): Line[] {
  const [only, ...others] = sessions;
  if (only === undefined) {
    return [];
  }
  if (others.length === 0) {
    return of(only).map((node) => new Line(only, node));
  }
  return sessions.map((session) => {
    const label = session.folder.split(/[\\/]/).at(-1) ?? session.folder;
    const { phase } = session.model;
    const node = { id: "folder", label, description: phase, tooltip: session.folder, icon: "folder" };
    return new Line(session, { ...node, children: of(session) });
  });
}

export function taskLines(sessions: readonly Session[]): Line[] {
  return lines(sessions, (session) => taskNodes(session.model));
}

export function iterationLines(sessions: readonly Session[]): Line[] {
  return lines(sessions, (session) => iterationNodes(session.model));
}

/** A tree's data. */
export class Lines implements vscode.TreeDataProvider<Line> {
  private readonly change = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.change.event;

  constructor(private readonly roots: () => Line[]) {}

  refresh(): void {
    this.change.fire();
  }

  getTreeItem(line: Line): vscode.TreeItem {
    return line;
  }

  async getChildren(line?: Line): Promise<Line[]> {
    if (line === undefined) {
      return this.roots();
    }
    const { session, node } = line;
    if (node.iteration === undefined) {
      return (node.children ?? []).map((child) => new Line(session, child));
    }
    try {
      const details = await session.cli.show(node.iteration);
      return detailNodes(details).map((child) => new Line(session, child));
    } catch (e) {
      const label = reason(e);
      const id = `iteration/${node.iteration}/error`;
      return [new Line(session, { id, label, description: "", tooltip: label, icon: "warning" })];
    }
  }
}
