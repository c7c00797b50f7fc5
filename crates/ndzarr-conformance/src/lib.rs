//! The neutral command-line tool that conformance tests drive
