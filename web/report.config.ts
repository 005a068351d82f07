import { defineConfig } from 'vite';

// The charts of reports as one file, which every report holds: python/transorbit/report/assets. It is part of the
// repository, so that a report needs no Node; a test holds it against these sources.
export default defineConfig({
  publicDir: false,
  build: {
    target: 'es2022',
    outDir: '../python/transorbit/report/assets',
    emptyOutDir: false,
    lib: { entry: 'src/report/main.ts', formats: ['iife'], name: 'report', fileName: () => 'charts.js', cssFileName: 'charts' },
  },
});
