package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// DefaultName is the service of the default home.
const DefaultName = "gatewaytui"

const (
	// folderShown is how many characters of a folder's name a service's name shows.
	folderShown = 40
	// hashShown is how many hexadecimal digits of the hash of its path it shows.
	hashShown = 8
)

// Name is the name of the service for the gateway on home. It is the same at every call, unique for each home, and has
// the home's last folder in it for people. defaultHome is the home of a gateway if none is named. Both are absolute.
func Name(home, defaultHome string) string {
	home = filepath.Clean(home)
	if home == filepath.Clean(defaultHome) {
		return DefaultName
	}
	// The characters that a unit, a label and a file may have without quotes.
	folder := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, filepath.Base(home))
	sum := sha256.Sum256([]byte(home))
	return DefaultName + "-" + folder[:min(len(folder), folderShown)] + "-" + hex.EncodeToString(sum[:])[:hashShown]
}

// extension is the one of a definition's file.
func (k Kind) extension() string {
	if k == Launchd {
		return ".plist"
	}
	return ".service"
}

// InstallPath is where the definition of the service name belongs: of systemd (systemd.unit(5), "Unit File Load Path") or
// launchd (launchd.plist(5)). home is the user's and configHome is $XDG_CONFIG_HOME, which is ignored if it is relative.
func InstallPath(k Kind, system bool, name, home, configHome string) string {
	dir := "/etc/systemd/system"
	switch {
	case k == Launchd && system:
		dir = "/Library/LaunchDaemons"
	case k == Launchd:
		dir = filepath.Join(home, "Library", "LaunchAgents")
	case !system:
		if !filepath.IsAbs(configHome) {
			configHome = ""
		}
		dir = filepath.Join(cmp.Or(configHome, filepath.Join(home, ".config")), "systemd", "user")
	}
	return filepath.Join(dir, name+k.extension())
}

// NameAt is the name of the service whose definition is at path, and whether it can be a gateway's.
func NameAt(k Kind, path string) (name string, ours bool) {
	name, is := strings.CutSuffix(filepath.Base(path), k.extension())
	return name, is && isUnit(name+".service") && (name == DefaultName || strings.HasPrefix(name, DefaultName+"-"))
}
