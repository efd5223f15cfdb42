//! The built binary, driven as a user would drive it. One file per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod acceptance;
mod acp;
mod agent_check;
mod agents;
mod attach;
mod audit;
mod bridge;
mod budget;
mod canonical;
mod cases;
mod completions;
mod config;
mod disk;
mod envelopes;
mod exit_codes;
mod fingerprint;
mod gate_groups;
mod gate_reports;
mod gates;
mod hooks;
mod hostile_agent;
mod hostile_sources;
mod kill;
mod kill_sweep;
mod kit;
mod kit_dev;
mod kit_languages;
mod kit_run;
mod legacy;
mod listen;
mod lock;
mod mcp;
mod mcp_frames;
mod mcp_sdk;
mod modes;
mod output;
mod parallel;
mod parallel_audit;
mod parallel_branches;
mod parallel_deaths;
mod plugin_grants;
mod plugin_http;
mod plugin_kinds;
mod plugin_lock;
mod plugin_registry;
mod plugin_sources;
mod plugins;
mod processes;
mod prompts;
mod pty;
mod quickstart;
mod rpc_log;
mod rpc_schema;
mod sandbox;
mod secrets;
mod serve_access;
mod serve_audit;
mod serve_client;
mod serve_client_rust;
mod serve_disk;
mod serve_edges;
mod serve_kill_sweep;
mod serve_lists;
mod serve_openapi;
mod serve_pages;
mod serve_prompts;
mod serve_prompts_edges;
mod serve_restart;
mod serve_runs;
mod serve_secrets;
mod serve_start;
mod serve_steer;
mod signals;
mod sources;
mod sources_beads;
mod sources_github;
mod steer;
mod steer_tasks;
mod tail;
mod task_files;
mod task_sources;
mod task_tamper;
mod terminal;
mod trust;
mod user_work;
mod vscode;
