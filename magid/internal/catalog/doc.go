// Package catalog is the daemon's own read-only tools and the names that applications cannot register.
package catalog
