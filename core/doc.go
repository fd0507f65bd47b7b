// Package core holds nothing itself: it is the house of the gateway, one folder a room.
//
// Read in this order. core/DESIGN.md has the shape, the invariants, six walks through the code and the glossary;
// core/CONTRACT.md what the outside may rely on; core/PROMISES.md the codes in comments and test names. Then package ops,
// whose rows and verbs every room speaks; package gateway, which wires the rooms; and the room that you work on.
//
// The rooms, from the outside in:
//
//	host          the process that hosts one life: home, config, gateway, control socket, signals, exit
//	gateway       the wiring, and one life of a gateway
//	phases        what a stop ends, phase by phase
//	operator      ops.Console over the live parts: snapshot, verbs, preview, requests, audit, diagnosis
//	conversation  turns, agents of sessions, the end of conversations, chat commands
//	delivery      messages of chats into sessions, answers and notices to chats
//	notices       what people hear unasked: stops and starts, platforms that are down, ended commands
//	approval      what asks a person before a tool does it: the gate, its requests and their answers
//	access        who may do what: roles, and how unknown users are let in
//	people        what is kept of a person, and its deletion
//	recovery      what earlier lives left; the record of this one; retention, read-only mode
//	health        whether messages are taken, warnings, low resources, the wall clock
//	metrics       counters and gauges for the metrics endpoint
//	rates         what the gateway did in the last 24 hours, step by step
//	events        the newest events, for any number of readers
//	background    background tasks as one tracked group
//	reap          the process trees of a stop, ended in one kill
//	shutdown      the plan as data, its executor and its report
//	lessons       what a stop that is over teaches: where its time went, what would help
//	session       keys, reset policies, mailboxes, the life of a turn
//	timeline      what a turn does, as it happens: calls with their times and costs
//	agent         the model loop, delegation, Close; the cache
//	acp           external programs that work on turns over the Agent Client Protocol
//	review        the agent that finds in conversations what is worth a note
//	schedule      jobs: what runs at a time; when has the schedules
//	budget        what model calls cost, and the calls that a budget does not allow
//	window        what of a conversation fits the context of a model
//	model         model clients
//	tool          what a model can call
//	media         files of chats: fetched for a turn, saved, sent, and deleted when they are old
//	files         the files of a work folder for a model: inside it, bounded, and written atomically
//	address       to which addresses the gateway connects for a model: the public internet, and what the config allows
//	browser       the browsers of sessions: what they start with, their proxy, their folder
//	web           pages as text for a model, and the search of the web
//	workspace     what the folder of an agent says of it: documents and skills
//	held          what sessions and the gateway hold besides processes and environments, as one list
//	mcp           tool servers: their programs and connections, their lists of tools, and the calls
//	environment   where commands run: sandbox, container, partial, local
//	process       tracked subprocesses; kernel has the system calls, guardian the process that outlives the gateway, pipe the lines of a protocol
//	adapter       platforms and their supervisor; one folder a platform, external is the one of a program; bot has what bots share, markdown reads what models write
//	platforms     the list of chat platforms: how each is made from the config, and its page for people
//	memory        notes that outlive conversations: whose they are, who keeps them, and the flush of conversations
//	search        the full-text index of the messages, in a file of its own
//	store         SQLite; simulation tests it on disks that fail
//	limit         what the bounds of the config have in common: usage, warnings, the fair queue
//	hook          commands and addresses of the operator that get events
//	instance      home, lock, pid file, marker
//	lives         the list of past lives next to the database, reports of stops, and how a life ended
//	control       the control socket: server and client
//	signature     requests between programs that share a secret, signed and checked
//	bound         run a call with a deadline and abandon one that does not keep it
//	remote        the gateway of a home as another process sees it
//	follow        events and what a stop waits for, in order, for a reader that shows lines
//	takeover      replace and restart a running gateway
//	service       service managers: who runs the gateway, what they allow and hear, unit files
//	doctor        checks that return findings
//	setup         the questions of the first configuration, what is tried of the answers, and how the config is written
//	importer      persona, skills, people and conversations of other gateways, taken over
//	demo          the home and the config of gatewaytui --demo
//	config        the config file
//	reload        what a changed config file changes, and when each key holds
//	fence         the verdict on a shell command: allowed, ask or never
//	logs          where log lines go
//	filter        the language in which rows are picked
//	term          untrusted text on its way to a terminal or a log
//	text          words: nearest, plural, ages; what an address of mail is
//	ops           the operator's language: Console, Snapshot and its rows, events, verbs
//
// Imports point one way, and arrows_test.go holds them.
//
// A running gateway cannot be read or traced by other processes of its user (process.Protect): to debug one, attach as root
// (sudo dlv attach PID). There is no core dump; SIGQUIT still prints every goroutine, and profiles are on the control socket.
package core
