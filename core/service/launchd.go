package service

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// LaunchdPlist is the property list for the gateway (launchd.plist(5)): a user's agent or the system's daemon. It fails
// where a value cannot be written in one.
//
// launchd restarts a program that exits with a code other than 0. A planned restart exits with 75, and a planned stop stays
// stopped (S9, G3). launchd has no setting to say that 69 and 78 do not get better (another gateway, a wrong config, a damaged
// database), and retries those every ThrottleInterval. runit and s6 do the same unless their finish script checks the
// code.
func LaunchdPlist(v Values) (string, error) {
	if err := v.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`<?xml version="1.0" encoding="UTF-8"?>`)
	say(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">`)
	say(`<!-- %s -->`, stampLine)
	say(`<!-- Computed from the gateway's config by "gatewaytui unit launchd". Change the config and write it again. -->`)
	if len(v.Credentials) > 0 {
		say(`<!-- The config reads secrets from %s, which do not belong in this file: name files with the keys that end in _file. -->`, strings.Join(v.Credentials, ", "))
	}
	say(`<plist version="1.0">`)
	say(`<dict>`)
	text := func(key, value string) { say("\t<key>%s</key>\n\t<string>%s</string>", key, escape(value)) }
	text("Label", v.Name)
	say("\t<key>ProgramArguments</key>\n\t<array>\n\t\t<string>%s</string>\n\t\t<string>--no-tui</string>\n\t</array>", escape(v.Exec))
	if v.System && v.User != "" {
		text("UserName", v.User)
	}
	say("\t<key>EnvironmentVariables</key>\n\t<dict>")
	env := v.environment()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		say("\t\t<key>%s</key>\n\t\t<string>%s</string>", name, escape(env[name]))
	}
	say("\t</dict>")
	say("\t<key>RunAtLoad</key>\n\t<true/>")
	say("\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>")
	say("\t<!-- From TERM to KILL, in seconds: the shutdown plan's worst case, and at least shutdown.drain_timeout and 30. -->")
	say("\t<key>ExitTimeOut</key>\n\t<integer>%d</integer>", int64(v.StopTimeout/time.Second))
	say("\t<key>ThrottleInterval</key>\n\t<integer>10</integer>")
	say(`</dict>`)
	say(`</plist>`)
	return stamped(b.String()), nil
}

// escape writes s as the text of an element. A value without control characters is never changed by it (check).
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}
