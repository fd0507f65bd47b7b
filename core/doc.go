// Package core holds nothing itself: it is the house of the gateway, one folder a room.
//
//	ops       the operator's language: Console, Snapshot and its rows, events, verbs
//	gateway   the wiring, one life of a gateway, and the phases of its stop
//	delivery  messages of chats into sessions, answers and notices to chats
//	conversation  turns, agents of sessions, the end of conversations, chat commands
//	background  background tasks as one tracked group
//	events    the newest events, for any number of readers
//	health    whether messages are taken, warnings, low resources, the wall clock
//	recovery  what earlier lives left; the record of this one; retention; read-only mode
//	operator  ops.Console over the live parts: snapshot, verbs, preview, requests, audit, diagnosis
//	metrics   counters and gauges for the metrics endpoint
//	shutdown  the plan as data, its executor and its report
//	session   keys, reset policies, the turn's life
//	agent     the model loop, delegation, Close; the cache
//	limit     what the bounds of the config have in common: usage, warnings, the fair queue
//	model     model clients
//	tool      what a model can call
//	process   tracked subprocesses
//	adapter   chat platforms and their supervisor
//	store     SQLite
//	instance  home, lock, pid file, marker
//	lives     the list of past lives next to the database, and how one ended
//	control   the control socket: server and client
//	service   service managers: who runs us, what they allow and are told, unit files
//	config    the config file
//	logs      where log lines go
//	term      untrusted text on its way to a terminal or a log
//
// Arrows point one way, and arrows_test.go holds them.
//
// A running gateway cannot be read or traced by other processes of its user (process.Protect): to debug one, attach as root
// (sudo dlv attach PID). There is no core dump; SIGQUIT still prints every goroutine, and profiles are on the control socket.
package core
