// A labelled native checkbox.
export default {
  template: `<label class="hr-check"><input type="checkbox" :checked="value" :disabled="disabled" @change="$emit('changed', $event.target.checked)" />{{ label }}</label>`,
  props: { label: String, value: Boolean, disabled: Boolean },
};
