// Imported before all else: graphql decides at its import whether it checks every value twice, and bin/espalier.js decides as
// here.
process.env.NODE_ENV ??= 'production';

export {};
