// A table: plain markup that every screen reader knows, sorted and paged by the server. Cells are text or links, never markup.
export default {
  template: `
    <div class="hr-table" tabindex="0" role="region" :aria-label="caption">
      <table>
        <caption class="hr-hidden">{{ caption }}</caption>
        <thead><tr>
          <th v-for="c in columns" :key="c.name" scope="col" :class="{ end: c.align === 'end' }"
              :aria-sort="sort && sort[0] === c.name ? (sort[1] ? 'descending' : 'ascending') : null">
            <button v-if="c.sortable" type="button" @click="$emit('sort', c.name)">{{ c.label }}<span aria-hidden="true">{{ arrow(c) }}</span></button>
            <span v-else :class="{ 'hr-hidden': c.hidden }">{{ c.label }}</span>
          </th>
        </tr></thead>
        <tbody>
          <tr v-for="row in rows" :key="row.id">
            <td v-for="c in columns" :key="c.name" :class="classes(c)" :title="hint(row[c.name])">
              <a v-if="is(row[c.name], 'href')" :href="safe(row[c.name].href)">{{ row[c.name].text }}</a>
              <span v-else-if="is(row[c.name], 'tone')" class="hr-chip" :data-tone="row[c.name].tone">{{ row[c.name].text }}</span>
              <button v-else-if="is(row[c.name], 'action')" type="button" :class="row[c.name].kind ? 'hr-button' : 'hr-row-button'" :data-kind="row[c.name].kind" :aria-label="row[c.name].label"
                @click="$emit('act', { id: row.id, action: row[c.name].action })">{{ row[c.name].text }}</button>
              <template v-else>{{ text(row[c.name]) }}</template>
            </td>
          </tr>
        </tbody>
      </table>
      <div v-if="!rows.length" class="hr-empty">{{ empty }}</div>
    </div>`,
  props: { columns: Array, rows: Array, sort: Array, caption: String, empty: String },
  methods: {
    is(cell, kind) { return cell !== null && typeof cell === "object" && kind in cell; },
    text(cell) { return cell !== null && typeof cell === "object" ? cell.text : cell; },
    hint(cell) { return cell !== null && typeof cell === "object" ? cell.hint : null; },
    safe(href) { return typeof href === "string" && href.startsWith("/") && !href.startsWith("//") ? href : "#"; },
    classes(c) { return [c.align === "end" ? "end" : "", c.mono ? "mono" : "", c.keep ? "keep" : "", c.clip ? "clip" : ""]; },
    arrow(c) { return this.sort && this.sort[0] === c.name ? (this.sort[1] ? "↓" : "↑") : ""; },
  },
};
